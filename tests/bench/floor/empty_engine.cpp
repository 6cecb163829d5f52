// A SimGrid engine that runs nothing: the least that a simulation can cost.
#include <simgrid/s4u/Engine.hpp>

int main(int argc, char** argv) {
  const simgrid::s4u::Engine engine(&argc, argv);
  return 0;
}
