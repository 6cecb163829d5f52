// Physical quantities with compile-time dimensions, in SI base units.
//
// A Quantity is one double. Its dimension is the exponent of four bases: bytes, seconds,
// floating-point operations and joules. Mixing dimensions does not compile; reading the number out
// takes `.si()`.
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace trainyard {

template <int B, int S, int F, int J>
class Quantity {
 public:
  constexpr Quantity() = default;
  /// The quantity of `si` base units (bytes, seconds, FLOP, joules and their products).
  static constexpr Quantity of(double si) { return Quantity(si); }
  /// The value in SI base units.
  constexpr double si() const { return si_; }

  constexpr Quantity operator-() const { return Quantity(-si_); }
  constexpr Quantity& operator+=(Quantity o) { return si_ += o.si_, *this; }
  constexpr Quantity& operator-=(Quantity o) { return si_ -= o.si_, *this; }
  constexpr Quantity& operator*=(double k) { return si_ *= k, *this; }
  constexpr Quantity& operator/=(double k) { return si_ /= k, *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.si_ + b.si_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.si_ - b.si_); }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(a.si_ * k); }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity(k * a.si_); }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.si_ / k); }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

 private:
  explicit constexpr Quantity(double si) : si_(si) {}
  double si_ = 0;
};

namespace detail {
// A product whose dimensions cancel is a plain number.
template <int B, int S, int F, int J>
constexpr auto make_quantity(double si) {
  if constexpr (B == 0 && S == 0 && F == 0 && J == 0) {
    return si;
  } else {
    return Quantity<B, S, F, J>::of(si);
  }
}
}  // namespace detail

template <int B, int S, int F, int J, int B2, int S2, int F2, int J2>
constexpr auto operator*(Quantity<B, S, F, J> a, Quantity<B2, S2, F2, J2> b) {
  return detail::make_quantity<B + B2, S + S2, F + F2, J + J2>(a.si() * b.si());
}
template <int B, int S, int F, int J, int B2, int S2, int F2, int J2>
constexpr auto operator/(Quantity<B, S, F, J> a, Quantity<B2, S2, F2, J2> b) {
  return detail::make_quantity<B - B2, S - S2, F - F2, J - J2>(a.si() / b.si());
}
template <int B, int S, int F, int J>
constexpr auto operator/(double k, Quantity<B, S, F, J> a) {
  return Quantity<-B, -S, -F, -J>::of(k / a.si());
}

using Bytes = Quantity<1, 0, 0, 0>;
using Seconds = Quantity<0, 1, 0, 0>;
using Flops = Quantity<0, 0, 1, 0>;  ///< floating-point operations, a count
using Joules = Quantity<0, 0, 0, 1>;
using BytesPerSecond = Quantity<1, -1, 0, 0>;
using FlopsPerSecond = Quantity<0, -1, 1, 0>;
using Watts = Quantity<0, -1, 0, 1>;

/// The exponents of a dimension, for code that handles quantities by value (parser, schema,
/// reports).
struct Dimension {
  int bytes = 0, seconds = 0, flops = 0, joules = 0;
  friend constexpr bool operator==(const Dimension&, const Dimension&) = default;
};
template <int B, int S, int F, int J>
constexpr Dimension dimension_of(Quantity<B, S, F, J>) {
  return {B, S, F, J};
}

/// What `parse_quantity` found: the value in SI base units, or a one-line reason (empty when it
/// parsed).
struct ParsedQuantity {
  double si = 0;
  std::string error;
};

/// Reads "400 Gb/s", "24 GiB", "1.5 us", "312 TFLOPS", "6.5 kW": a decimal number, optional spaces,
/// a unit.
/// - SI prefixes k M G T P E and IEC Ki Mi Gi Ti Pi Ei; m u n p for seconds, joules and watts.
/// - b is a bit and B a byte; "b/s" = "bps", "B/s" = "Bps"; FLOP is a count, FLOPS = "FLOP/s" a
/// rate.
/// - seconds also as "min", "h", "d" (86,400 s), without large prefixes; joules also as "Wh" (3,600
/// J).
/// - composites: "ns/B", "J/B", "FLOP/B"; rates of events "1/s", "/s", "Hz", "1/d", "per day".
/// A bare number, an unknown unit, another dimension, nan, inf, overflow and underflow are errors
/// that say what would do.
ParsedQuantity parse_quantity(std::string_view text, Dimension wanted);

/// One unit of the dimension as an example for messages and schema: "400 Gb/s", "24 GiB", "1.5 us".
std::string_view quantity_example(Dimension dimension);

/// The dimension in words: "bytes", "bytes per second", "seconds", …
std::string_view quantity_name(Dimension dimension);

/// Writes a finite quantity so that `parse_quantity` gives back exactly the same double, in the
/// plainest unit: "50 GB/s", "2 us", "1 GiB" (an IEC prefix only where it is exact and shorter).
std::string write_quantity(double si, Dimension dimension);

/// Writes a quantity for people: four significant digits and a prefix, "34.53 GB/s", "18.42 ms".
std::string show_quantity(double si, Dimension dimension);

template <int B, int S, int F, int J>
std::string show(Quantity<B, S, F, J> q) {
  return show_quantity(q.si(), dimension_of(q));
}

inline namespace literals {
// clang-format off
constexpr Bytes operator""_B(unsigned long long v) { return Bytes::of(double(v)); }
constexpr Bytes operator""_kB(unsigned long long v) { return Bytes::of(double(v) * 1e3); }
constexpr Bytes operator""_MB(unsigned long long v) { return Bytes::of(double(v) * 1e6); }
constexpr Bytes operator""_GB(unsigned long long v) { return Bytes::of(double(v) * 1e9); }
constexpr Bytes operator""_KiB(unsigned long long v) { return Bytes::of(double(v) * 1024.0); }
constexpr Bytes operator""_MiB(unsigned long long v) { return Bytes::of(double(v) * 1048576.0); }
constexpr Bytes operator""_GiB(unsigned long long v) { return Bytes::of(double(v) * 1073741824.0); }
constexpr Seconds operator""_s(long double v) { return Seconds::of(double(v)); }
constexpr Seconds operator""_ms(long double v) { return Seconds::of(double(v) / 1e3); }
constexpr Seconds operator""_us(long double v) { return Seconds::of(double(v) / 1e6); }
constexpr BytesPerSecond operator""_Gbps(unsigned long long v) { return BytesPerSecond::of(double(v) * 1e9 / 8); }
constexpr BytesPerSecond operator""_GBps(unsigned long long v) { return BytesPerSecond::of(double(v) * 1e9); }
constexpr FlopsPerSecond operator""_TFLOPS(unsigned long long v) { return FlopsPerSecond::of(double(v) * 1e12); }
// clang-format on
}  // namespace literals

}  // namespace trainyard
