// Closed forms of collectives on one port per rank, written from the literature and not from the
// program: S bytes, n ranks, b bytes/s per port and direction, a seconds per step.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

namespace trainyard::oracle {

inline double ceil_log2(double n) {
  double rounds = 0;
  for (double reach = 1; reach < n; reach *= 2) ++rounds;
  return rounds;
}

/// Ring: every rank sends S/n in each of its rounds (Thakur et al. 2005; 2(n-1) for all_reduce).
inline double ring(const std::string& op, double S, double n, double b, double a) {
  const double rounds = op == "all_reduce" ? 2 * (n - 1) : n - 1;
  return rounds * (a + S / n / b);
}

/// The same when chunks are cut through: the larger of latency and transfer.
inline double ring_cut_through(const std::string& op, double S, double n, double b, double a) {
  const double rounds = op == "all_reduce" ? 2 * (n - 1) : n - 1;
  return rounds * std::max(a, S / n / b);
}

/// Bruck's pattern: ceil(log2 n) rounds, (n-1)/n of the buffer in all; all_reduce does it twice.
inline double pat(const std::string& op, double S, double n, double b, double a) {
  const double once = ceil_log2(n) * a + (n - 1) / n * S / b;
  return op == "all_reduce" ? 2 * once : once;
}

/// Rabenseifner: halving and doubling among the largest power of two; the others fold in and out.
inline double halving_doubling(const std::string& /*op*/, double S, double n, double b, double a) {
  const double p = std::exp2(std::floor(std::log2(n)));
  return 2 * std::log2(p) * a + 2 * (p - 1) / p * S / b + (n > p ? 2 * (a + S / b) : 0);
}

/// Streaming aggregation through one switch: the buffer once over the port, and one latency.
inline double sharp(const std::string& /*op*/, double S, double /*n*/, double b, double a) {
  return S / b + a;
}

/// Every rank sends S/n to each of the n-1 others at once, over one port, after one latency.
inline double all_to_all(double S, double n, double b, double a) { return a + (n - 1) / n * S / b; }

/// g ranks per server, m = n/g servers: rings inside on S, rings between on S/g.
inline double hierarchical(const std::string& op, double S, double n, double b, double a) {
  const double g = 8, m = n / g;
  const double inside = (g - 1) * (a + S / g / b);
  const double between = m > 1 ? ring(op, S / g, m, b, a) : 0;
  return op == "all_reduce" ? 2 * inside + between : inside + between;
}

}  // namespace trainyard::oracle
