// Runs the tests on a busy machine. A module of its own: it is no part of the program.
module duplex/flaky

go 1.26.8
