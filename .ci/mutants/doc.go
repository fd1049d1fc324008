// Command mutants is a mutation test of the core. It makes one small change to the core at a time
// (a reversed comparison, a missing assignment, a number off by one) and runs the tests. A mutant
// is killed if a test fails, and survives if all pass.
//
//	find     list every place in the four packages where an operator applies
//	graft    add to each function one clone per mutant, and a switch at its start
//	         that calls the clone whose number is in the environment
//	build    compile the test binaries once, with an overlay; discard clones that do
//	         not compile
//	try      run the tests, the fastest first, with a limit of CPU time, until one fails
//	judge    compare the survivors with survivors.txt, which lists those equivalent to
//	         the original, with reasons; any other survivor is a gap in the tests
//
// A mutant of a package constant has no function to clone, so it is built separately. The source
// tree is not changed. Limits are of CPU time, so that a busy machine kills no mutant, and random
// tests have a fixed seed.
//
// A line of survivors.txt identifies a mutant by file, function, operator and text, not by line
// number, so it stays valid while that text is unchanged.
package main
