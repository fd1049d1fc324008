// Mutation tests of the core. A module of its own: it is no part of the program.
module duplex/mutants

go 1.26.8
