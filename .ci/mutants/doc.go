// Command mutants asks the core's tests whether they would notice. It changes the
// core in one small way at a time (a comparison turned, an assignment left out, a
// number off by one) and runs the tests: those that fail have killed the mutant, one
// that they all let pass has survived.
//
//	find     every place of the four packages where an operator applies
//	graft    each function gets a clone a mutant, and a switch at its head that
//	         goes to the clone when its number is asked for
//	build    the test binaries, once, over an overlay; clones that do not compile
//	         are left out and are no mutants
//	try      a run of the quickest tests first, the number in the environment,
//	         under a limit of processor time, until one fails
//	judge    survivors.txt says which survivors are no different from the original,
//	         and why; any other is a hole in the tests
//
// Constants of a package have no function to clone: each is a build of its own.
// Nothing in the tree is changed. Time is the processor's, so that a busy machine
// kills no mutant; chance has a fixed seed.
//
// A line of survivors.txt names its mutant by file, function, operator and text, not
// by line, and holds for as long as that text stands.
package main
