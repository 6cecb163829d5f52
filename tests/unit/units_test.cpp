// The unit parser and writer, held against values worked out by hand.
#include "sim/units.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <utility>

namespace trainyard {
namespace {

constexpr Dimension kBytes = dimension_of(Bytes());
constexpr Dimension kSeconds = dimension_of(Seconds());
constexpr Dimension kFlops = dimension_of(Flops());
constexpr Dimension kJoules = dimension_of(Joules());
constexpr Dimension kBandwidth = dimension_of(BytesPerSecond());
constexpr Dimension kSpeed = dimension_of(FlopsPerSecond());
constexpr Dimension kWatts = dimension_of(Watts());
constexpr Dimension kRate = dimension_of(decltype(1.0 / Seconds())());
constexpr Dimension kIntensity = dimension_of(decltype(Flops() / Bytes())());
constexpr Dimension kBalance = dimension_of(decltype(Bytes() / Flops())());
constexpr Dimension kByteTime = dimension_of(decltype(Seconds() / Bytes())());
constexpr Dimension kByteEnergy = dimension_of(decltype(Joules() / Bytes())());
constexpr Dimension kOdd =
    dimension_of(decltype(Bytes() * Bytes() / Seconds())());  // no kind we name
constexpr Dimension kAll[] = {kBytes, kSeconds,   kFlops,   kJoules,   kBandwidth,  kSpeed, kWatts,
                              kRate,  kIntensity, kBalance, kByteTime, kByteEnergy, kOdd};

double value(std::string_view text, Dimension wanted) {
  const ParsedQuantity parsed = parse_quantity(text, wanted);
  EXPECT_EQ(parsed.error, "") << text;
  return parsed.si;
}

std::string error(std::string_view text, Dimension wanted) {
  const ParsedQuantity parsed = parse_quantity(text, wanted);
  EXPECT_EQ(parsed.si, 0) << text;
  return parsed.error;
}

void expect_unknown(std::string_view text, Dimension wanted) {
  EXPECT_NE(error(text, wanted).find("unknown unit"), std::string::npos) << text;
}

// The compiler is the first test: dimensions combine as physics says and do not mix.
template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};
static_assert(std::is_same_v<decltype(Bytes() / Seconds()), BytesPerSecond>);
static_assert(std::is_same_v<decltype(Flops() / Seconds()), FlopsPerSecond>);
static_assert(std::is_same_v<decltype(Joules() / Seconds()), Watts>);
static_assert(std::is_same_v<decltype(Watts() * Seconds()), Joules>);
static_assert(std::is_same_v<decltype(1_GB / 1_GBps), Seconds>);
static_assert(std::is_same_v<decltype(1_GB / 1_MB), double>);
static_assert(std::is_same_v<decltype(1.0 / (1.0 / Seconds())), Seconds>);
static_assert((1_GB / 1_GBps).si() == 1 && (400_Gbps).si() == 50e9 && 1_GiB > 1_GB);
static_assert(!std::is_convertible_v<Bytes, Seconds> && !std::is_constructible_v<Seconds, Bytes>);
static_assert(!std::is_assignable_v<Seconds&, Bytes> && std::is_assignable_v<Seconds&, Seconds>);
static_assert(!std::is_convertible_v<double, Bytes> && !std::is_constructible_v<Bytes, double>);
static_assert(!std::is_convertible_v<Bytes, double> && sizeof(Bytes) == sizeof(double));
static_assert(Addable<Bytes, Bytes> && !Addable<Bytes, Seconds> && !Addable<Bytes, double>);
static_assert(Comparable<Watts, Watts> && !Comparable<Watts, Joules>);

TEST(ParseQuantity, EveryKindByHand) {
  EXPECT_EQ(value("24 GiB", kBytes), 24.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(value("12 b", kBytes), 1.5);
  EXPECT_EQ(value("1.5 us", kSeconds), 1.5e-6);
  EXPECT_EQ(value("3.5 TFLOP", kFlops), 3.5e12);
  EXPECT_EQ(value("5 kJ", kJoules), 5000);
  EXPECT_EQ(value("400 Gb/s", kBandwidth), 50e9);
  EXPECT_EQ(value("312 TFLOPS", kSpeed), 312e12);
  EXPECT_EQ(value("6.5 kW", kWatts), 6500);
  EXPECT_EQ(value("3 /s", kRate), 3);
  EXPECT_EQ(value("100 FLOP/B", kIntensity), 100);
  EXPECT_EQ(value("0.5 B/FLOP", kBalance), 0.5);
  EXPECT_EQ(value("1.2 ns/B", kByteTime), 1.2e-9);
  EXPECT_EQ(value("10 pJ/B", kByteEnergy), 1e-11);
}

TEST(ParseQuantity, SpellingsOfOneUnitAgree) {
  for (const char* text : {"400 Gb/s", "400 Gbps", "50 GB/s", "50 GBps", "3 TB/min"}) {
    EXPECT_EQ(value(text, kBandwidth), 50e9) << text;
  }
  for (const char* text : {"2 PFLOPS", "2 PFLOP/s", "7200 PFLOP/h"}) {
    EXPECT_EQ(value(text, kSpeed), 2e15) << text;
  }
  for (const char* text : {"2 us", "2us", "2 µs", "2 \u03bcs", "0.002 ms", "2000 ns", "2e6 ps"}) {
    EXPECT_EQ(value(text, kSeconds), 2e-6) << text;
  }
  for (const char* text : {"1 kWh", "3.6 MJ", "1 kW*h", "3600 kJ", "60 kW*min", "3600 kW * s"}) {
    EXPECT_EQ(value(text, kJoules), 3.6e6) << text;
  }
  for (const char* text : {"2 d", "2 day", "48 h", "2880 min", "172800 s", "172800 1/Hz"}) {
    EXPECT_EQ(value(text, kSeconds), 172800) << text;
  }
  for (const char* text : {"5 /d", "5 1/d", "5/d", "5 per day", "5 per d"}) {
    EXPECT_EQ(value(text, kRate), 5.0 / 86400) << text;
  }
  for (const char* text : {"1.5 GHz", "1.5e9 1/s", "1.5e9/s", "1.5 /ns"}) {
    EXPECT_EQ(value(text, kRate), 1.5e9) << text;
  }
  EXPECT_EQ(value("3 J/s", kWatts), 3);
  EXPECT_EQ(value("3 s/B*B/s*W", kWatts), 3);  // left to right: ((s/B)*B/s)*W
  EXPECT_EQ(value("3 MJ/h", kWatts), 3e6 / 3600);
  EXPECT_EQ(value("3 W/J*J", kWatts), 3);
  EXPECT_EQ(value("1 s/KiB", kByteTime), 1.0 / 1024);
  EXPECT_EQ(value("1 ns/b", kByteTime), 8e-9);
  EXPECT_EQ(value("3 /s*1", kRate), 3);
}

TEST(ParseQuantity, EveryPrefix) {
  const std::pair<const char*, double> si[] = {{"1 kB", 1e3},  {"1 MB", 1e6},  {"1 GB", 1e9},
                                               {"1 TB", 1e12}, {"1 PB", 1e15}, {"1 EB", 1e18}};
  for (const auto& [text, bytes] : si) EXPECT_EQ(value(text, kBytes), bytes) << text;
  const std::pair<const char*, int> iec[] = {{"1 KiB", 10}, {"1 MiB", 20}, {"1 GiB", 30},
                                             {"1 TiB", 40}, {"1 PiB", 50}, {"1 EiB", 60},
                                             {"1 Kib", 7},  {"1 Gib", 27}};
  for (const auto& [text, power] : iec) EXPECT_EQ(value(text, kBytes), std::exp2(power)) << text;
  const std::pair<const char*, double> small[] = {
      {"1 mJ", 1e-3}, {"1 uJ", 1e-6}, {"1 µJ", 1e-6}, {"1 nJ", 1e-9}, {"1 pJ", 1e-12}};
  for (const auto& [text, joules] : small) EXPECT_EQ(value(text, kJoules), joules) << text;
  EXPECT_EQ(value("1 mW", kWatts), 1e-3);
  EXPECT_EQ(value("1 MW", kWatts), 1e6);
  EXPECT_EQ(value("1 mWh", kJoules), 3.6);
  for (const char* text : {"1 GiB/s", "1 GiBps", "8 Gib/s", "8 Gibps"}) {
    EXPECT_EQ(value(text, kBandwidth), std::exp2(30)) << text;
  }
}

TEST(ParseQuantity, NumberForms) {
  EXPECT_EQ(value("1e3 GB", kBytes), 1e12);
  EXPECT_EQ(value("1E+3B", kBytes), 1000);
  EXPECT_EQ(value("25e-1 B", kBytes), 2.5);
  EXPECT_EQ(value("1EB", kBytes), 1e18) << "the E of a prefix is no exponent";
  EXPECT_EQ(value("2E2EB", kBytes), 2e20);
  EXPECT_EQ(value(".5 B", kBytes), 0.5);
  EXPECT_EQ(value("5. B", kBytes), 5);
  EXPECT_EQ(value("  7   kB  ", kBytes), 7000);
  EXPECT_EQ(value("-3 us", kSeconds), -3e-6) << "whether negative makes sense is the reader's";
  EXPECT_EQ(value("-.5 s", kSeconds), -0.5);
  EXPECT_TRUE(std::signbit(value("-0 s", kSeconds)));
  EXPECT_EQ(value("0e99999999999 s", kSeconds), 0);
  EXPECT_EQ(value("1000e-309 ms", kSeconds), 1e-309) << "subnormal";
  EXPECT_EQ(value("0." + std::string(400, '0') + "15e401 s", kSeconds), 1.5);
}

// Converting the decimal once is exact; multiplying by 1e-6 is not (5 * 1e-6 != 5e-6).
TEST(ParseQuantity, ValueIsTheDoubleOfTheDecimal) {
  EXPECT_NE(5 * 1e-6, 5e-6);
  EXPECT_EQ(value("5 us", kSeconds), 5e-6);
  EXPECT_EQ(value("1.1 ns", kSeconds), 1.1e-9);
  EXPECT_EQ(value("0.1 ms", kSeconds), 0.1e-3);
  EXPECT_EQ(value("34.527 GB/s", kBandwidth), 34.527e9);
  EXPECT_EQ(value("1 /ms", kRate), 1000);
  EXPECT_EQ(value("0.7 pJ/B", kByteEnergy), 0.7e-12);
  EXPECT_EQ(value("1 /d", kRate), 1.0 / 86400);
}

// Each of these is read as something else by a careless parser, usually by a factor of 8 or 1.07.
TEST(ParseQuantity, BitsBytesAndPrefixesAreStrict) {
  EXPECT_EQ(value("1 GB", kBytes), 8 * value("1 Gb", kBytes));
  EXPECT_EQ(value("1 GBps", kBandwidth), 8 * value("1 Gbps", kBandwidth));
  EXPECT_NE(value("1 GiB", kBytes), value("1 GB", kBytes));
  for (const char* text :
       {"1 KB", "1 gB", "1 kiB", "1 gib", "1 GIB", "1 mB", "1 mb", "1 uB", "1 GBs", "1 K", "1 G",
        "1 kkB", "1 GiGiB", "1 b B", "1 byte", "1 iB", "1 kib"}) {
    expect_unknown(text, kBytes);
  }
  for (const char* text : {"1 Ms", "1 ks", "1 Kis", "1 S", "1 mmin", "1 kh", "1 kd", "1 kday",
                           "1 sec", "1 m", "1 Min", "1 fs", "1 \xc2s", "1 \xb5s"}) {
    expect_unknown(text, kSeconds);
  }
  for (const char* text : {"1 KiFLOP", "1 mFLOP", "1 flop", "1 TFLOPs", "1 FLOPSs"}) {
    expect_unknown(text, kFlops);
  }
  for (const char* text : {"1 KW", "1 kw", "1 KiW", "1 w", "1 kiJ/s"}) expect_unknown(text, kWatts);
  for (const char* text : {"1 Kwh", "1 KiWh", "1 KiJ", "1 j"}) expect_unknown(text, kJoules);
  for (const char* text : {"1 KBps", "1 mBps", "1 mbps", "1 nbps", "1 bPs", "1 kBpS"}) {
    expect_unknown(text, kBandwidth);
  }
  for (const char* text : {"1 mFLOPS", "1 KiFLOPS", "1 KFLOPS"}) expect_unknown(text, kSpeed);
  for (const char* text : {"1 mHz", "1 hz", "1 k1/s", "1 1.0/s"}) expect_unknown(text, kRate);
}

TEST(ParseQuantity, EveryMistakeSaysWhatWouldDo) {
  EXPECT_EQ(error("400", kBandwidth), "400 has no unit; write it like \"400 Gb/s\"");
  EXPECT_EQ(error(" -1.5e3 ", kSeconds), "-1.5e3 has no unit; write it like \"1.5 us\"");
  EXPECT_EQ(error("", kBytes), "an empty string is not a quantity; write it like \"24 GiB\"");
  EXPECT_EQ(error("  ", kBytes), "an empty string is not a quantity; write it like \"24 GiB\"");
  EXPECT_EQ(error("24 GiB", kBandwidth),
            "\"24 GiB\" is bytes, not bytes per second; write it like \"400 Gb/s\"");
  EXPECT_EQ(error("2 B*s", kWatts), "\"2 B*s\" is in B*s, not watts; write it like \"6.5 kW\"");
  EXPECT_EQ(error("2 1/B/s", kWatts),
            "\"2 1/B/s\" is in 1/B/s, not watts; write it like \"6.5 kW\"");
  EXPECT_EQ(error("2 1", kBytes), "\"2 1\" is in 1, not bytes; write it like \"24 GiB\"");
  EXPECT_EQ(error("400Gbq", kBandwidth),
            "\"400Gbq\" is not a quantity: unknown unit \"Gbq\"; write it like \"400 Gb/s\"");
  EXPECT_EQ(error("0x10 B", kBytes),
            "\"0x10 B\" is not a quantity: unknown unit \"x10 B\"; write it like \"24 GiB\"");
  EXPECT_EQ(
      error("4 GiB each", kBytes),
      "\"4 GiB each\" is not a quantity: unknown unit \"GiB each\"; write it like \"24 GiB\"");
  for (const char* unit : {"B/", "B//s", "*B", "//s", "B*", "per /s", "/"}) {
    EXPECT_EQ(error("5 " + std::string(unit), kBandwidth),
              "\"5 " + std::string(unit) + "\" is not a quantity: incomplete unit \"" + unit +
                  "\"; write it like \"400 Gb/s\"");
  }
}

TEST(ParseQuantity, BadNumbers) {
  for (const std::string text : {"nan s", "inf s", "-inf s", "us", "+5 s", "- 5 s", ". s", "-",
                                 "e5 s", "--1 s", "-. s", ".e1 s"}) {
    EXPECT_EQ(error(text, kSeconds), "\"" + text +
                                         "\" is not a quantity: it does not start with a number; "
                                         "write it like \"1.5 us\"");
  }
  for (const std::string text : {"1e999 s", "-1e999 s", "1e-999 s", "1e99999999999 s", "1e308 d",
                                 "1e-99999999999 s", "4e-324 ps", "1e9999999999999999999999 s"}) {
    EXPECT_EQ(error(text, kSeconds), "\"" + text +
                                         "\" is not a quantity: the number is out of range; "
                                         "write it like \"1.5 us\"");
  }
  EXPECT_NE(error("1e308 EiB", kBytes), "");
  EXPECT_NE(error("1e2147483647 EB", kBytes), "");
  EXPECT_NE(error("5e-324 b", kBytes), "") << "must not become 0 silently";
  for (const std::string text : {"1,000 B", "1_000 B", "1'000 B", "1,5 B", "1 ,5 B"}) {
    EXPECT_EQ(error(text, kBytes), "\"" + text +
                                       "\" is not a quantity: numbers take no separator but a "
                                       "decimal point; write it like \"24 GiB\"");
  }
  for (const char* text : {"1 000 B", "1.2.3 B", "1e B", "1e+ B", "1e1.5 B", "5 3 B"}) {
    expect_unknown(text, kBytes);
  }
}

// Letter case alone cannot tell bits from bytes or milli from mega, so every reading is offered.
TEST(ParseQuantity, NearMissesAreSuggested) {
  const auto suggests = [](std::string_view text, std::string_view unit_and_hint) {
    const std::string message = error(text, kBandwidth);
    const std::string expected = "unknown unit " + std::string(unit_and_hint) + "; write it";
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  };
  suggests("400GBPS", R"("GBPS" (did you mean "GBps" or "Gbps"?))");
  suggests("4 KB/s", R"("KB" (did you mean "kB" or "kb"?))");
  suggests("4 mw", R"("mw" (did you mean "MW" or "mW"?))");
  suggests("4 gib", R"("gib" (did you mean "GiB" or "Gib"?))");
  suggests("4 TFLOPs", R"("TFLOPs" (did you mean "TFLOP" or "TFLOPS"?))");
  suggests("4 Ms", R"("Ms" (did you mean "ms"?))");
  suggests("4 mins", R"("mins" (did you mean "min"?))");
  suggests("4 HZ", R"("HZ" (did you mean "Hz"?))");
  suggests("4 DAYS", R"("DAYS" (did you mean "day"?))");
  suggests("4 K", R"("K")");
}

TEST(ParseQuantity, EchoIsOneShortPrintableLine) {
  EXPECT_EQ(error("5 \xc3\xa9\n\"\\\x7f", kBytes),
            "\"5 \\xc3\\xa9\\x0a\\x22\\x5c\\x7f\" is not a quantity: unknown unit "
            "\"\\xc3\\xa9\\x0a\\x22\\x5c\\x7f\"; write it like \"24 GiB\"");
  EXPECT_EQ(error(std::string_view("5 B\0", 4), kBytes),
            "\"5 B\\x00\" is not a quantity: unknown unit \"B\\x00\"; write it like \"24 GiB\"");
  EXPECT_EQ(error("5 ~", kBytes),
            "\"5 ~\" is not a quantity: unknown unit \"~\"; write it like \"24 GiB\"");
  EXPECT_EQ(error("5\tB", kBytes),
            "\"5\\x09B\" is not a quantity: unknown unit \"\\x09B\"; write it like \"24 GiB\"");
  EXPECT_EQ(error(std::string(40, '7'), kBytes),
            std::string(40, '7') + " has no unit; write it like \"24 GiB\"");
  EXPECT_EQ(error(std::string(1'000'000, '7'), kBytes),
            std::string(40, '7') + "... has no unit; write it like \"24 GiB\"");
  EXPECT_LT(error("5 " + std::string(1'000'000, '\xff'), kBytes).size(), 500);
}

TEST(WriteQuantity, PlainestUnit) {
  EXPECT_EQ(write_quantity(5e10, kBandwidth), "50 GB/s");
  EXPECT_EQ(write_quantity(2e-6, kSeconds), "2 us");
  EXPECT_EQ(write_quantity(312e12, kSpeed), "312 TFLOPS");
  EXPECT_EQ(write_quantity(6500, kWatts), "6.5 kW");
  EXPECT_EQ(write_quantity(-6500, kWatts), "-6.5 kW");
  EXPECT_EQ(write_quantity(0, kSeconds), "0 s");
  EXPECT_EQ(write_quantity(1000, kJoules), "1 kJ");
  EXPECT_EQ(write_quantity(999.5, kJoules), "999.5 J");
  EXPECT_EQ(write_quantity(0.3, kSeconds), "300 ms");
  EXPECT_EQ(write_quantity(86400, kSeconds), "86400 s");
  EXPECT_EQ(write_quantity(1e-11, kByteEnergy), "10 pJ/B");
  EXPECT_EQ(write_quantity(1.2e-9, kByteTime), "1.2 ns/B");
  EXPECT_EQ(write_quantity(2000, kIntensity), "2 kFLOP/B");
  EXPECT_EQ(write_quantity(0.25, kBalance), "0.25 B/FLOP");
  EXPECT_EQ(write_quantity(2500, kRate), "2500 /s");
  EXPECT_EQ(write_quantity(2e21, kFlops), "2e+21 FLOP");
  EXPECT_EQ(write_quantity(2e20, kFlops), "200 EFLOP");
  EXPECT_EQ(write_quantity(5e-15, kSeconds), "5e-15 s");
  EXPECT_EQ(write_quantity(3e9, kOdd), "3 GB*B/s");
}

TEST(WriteQuantity, IecWhereItIsExactAndShorter) {
  EXPECT_EQ(write_quantity(1073741824, kBytes), "1 GiB");
  EXPECT_EQ(write_quantity(-24 * 1073741824.0, kBytes), "-24 GiB");
  EXPECT_EQ(write_quantity(4096, kBytes), "4 KiB");
  EXPECT_EQ(write_quantity(25 * 1048576.0, kBytes), "25 MiB");
  EXPECT_EQ(write_quantity(std::exp2(60), kBytes), "1 EiB");
  EXPECT_EQ(write_quantity(std::exp2(30), kBandwidth), "1 GiB/s");
  EXPECT_EQ(write_quantity(80e9, kBytes), "80 GB") << "a multiple of 1 KiB, but longer so";
  EXPECT_EQ(write_quantity(1024000, kBytes), "1.024 MB") << "as short as 1000 KiB: SI";
  EXPECT_EQ(write_quantity(1.5 * 1073741824, kBytes), "1536 MiB") << "whole numbers only";
  EXPECT_EQ(write_quantity(1500, kBytes), "1.5 kB");
  EXPECT_EQ(write_quantity(1001, kBytes), "1.001 kB");
  EXPECT_EQ(write_quantity(1024, kFlops), "1.024 kFLOP") << "IEC is for bytes only";
  EXPECT_EQ(write_quantity(1024, kSeconds), "1024 s");
}

TEST(WriteQuantity, BaseUnitWithAllDigitsWhereAPrefixWouldRound) {
  const double exact = std::nextafter(34.5e9, 1e300);
  const std::string text = write_quantity(exact, kBandwidth);
  EXPECT_EQ(value(text, kBandwidth), exact) << text;
}

void expect_round_trip(double si, Dimension dimension) {
  const std::string text = write_quantity(si, dimension);
  const ParsedQuantity parsed = parse_quantity(text, dimension);
  ASSERT_EQ(parsed.error, "") << text;
  ASSERT_EQ(std::bit_cast<std::uint64_t>(parsed.si), std::bit_cast<std::uint64_t>(si)) << text;
}

// Half of them random bits, which cover all exponents but hardly the magnitudes of real inputs.
void expect_random_round_trips(Dimension dimension, int count) {
  std::mt19937_64 bits(1);
  std::uniform_real_distribution<double> exponent(-13, 20), mantissa(1, 10);
  for (int i = 0; i < count && !testing::Test::HasFatalFailure(); i += 2) {
    const auto any = std::bit_cast<double>(bits());
    if (std::isfinite(any)) expect_round_trip(any, dimension);
    expect_round_trip(mantissa(bits) * std::pow(10, exponent(bits)), dimension);
  }
}

TEST(WriteQuantity, RoundTripsToTheSameBits) {
  using Limits = std::numeric_limits<double>;
  for (const Dimension dimension : kAll) {
    expect_random_round_trips(dimension, 1000);
    for (const double si : {0.0, Limits::max(), Limits::min(), Limits::denorm_min(), 0x1p53, 0x1p63,
                            0x1p1000, 0x1.fffffffffffffp62, 999.9999999999999, 1e21, 1e-13}) {
      expect_round_trip(si, dimension);
      expect_round_trip(-si, dimension);
    }
  }
}

TEST(WriteQuantity, RoundTripsSlow) {
  for (const Dimension dimension : kAll) expect_random_round_trips(dimension, 100'000);
}

TEST(WriteQuantity, ExamplesParseAndNamesDiffer) {
  for (const Dimension dimension : kAll) {
    if (dimension == kOdd) continue;
    EXPECT_GT(value(quantity_example(dimension), dimension), 0);
    for (const Dimension other : kAll) {
      EXPECT_EQ(quantity_name(dimension) == quantity_name(other), dimension == other);
    }
  }
  EXPECT_EQ(quantity_name(kBytes), "bytes");
  EXPECT_EQ(quantity_name(kBandwidth), "bytes per second");
  EXPECT_EQ(quantity_name(kSeconds), "seconds");
  EXPECT_EQ(quantity_example(kBandwidth), "400 Gb/s");
  EXPECT_EQ(quantity_name(kOdd), "an unnamed quantity");
  EXPECT_EQ(quantity_example(kOdd), "a number and its unit");
}

TEST(ShowQuantity, FourDigitsAndAPrefix) {
  EXPECT_EQ(show(BytesPerSecond::of(34.527e9)), "34.53 GB/s");
  EXPECT_EQ(show(Seconds::of(0.018424)), "18.42 ms");
  EXPECT_EQ(show(Seconds::of(0)), "0 s");
  EXPECT_EQ(show(Seconds::of(-0.0)), "0 s");
  EXPECT_EQ(show(Seconds::of(-2.5e-6)), "-2.5 us");
  EXPECT_EQ(show(Bytes::of(999.94e6)), "999.9 MB");
  EXPECT_EQ(show(Bytes::of(999.96e6)), "1 GB") << "rounding carries into the next prefix";
  EXPECT_EQ(show(Bytes::of(1073741824)), "1.074 GB");
  EXPECT_EQ(show(Seconds::of(0.99996)), "1 s");
  EXPECT_EQ(show(Seconds::of(86412)), "86410 s");
  EXPECT_EQ(show(Watts::of(6543210)), "6.543 MW");
  EXPECT_EQ(show(1.0 / Seconds::of(7)), "0.1429 /s");
  EXPECT_EQ(show(Bytes::of(1) * Bytes::of(2)), "2 B*B");
}

TEST(ShowQuantity, WhatIsNoNumberAndTheExtremes) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(show(Seconds::of(nan)), "nan s");
  EXPECT_EQ(show(Seconds::of(-nan)), "nan s");
  EXPECT_EQ(show(Seconds::of(inf)), "inf s");
  EXPECT_EQ(show(BytesPerSecond::of(-inf)), "-inf B/s");
  EXPECT_EQ(show(Seconds::of(std::numeric_limits<double>::denorm_min())), "5e-324 s");
  EXPECT_NE(show(Bytes::of(std::numeric_limits<double>::max())), "");
}

}  // namespace
}  // namespace trainyard
