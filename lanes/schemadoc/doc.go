// Package schemadoc completes the schemas that huma derives from the types of package schemas, for the
// OpenAPI document of lanes/rest and the AsyncAPI document of lanes/ws. Both describe one wire, and users
// of both generate clients from them.
//
//	huma reads a struct → Complete adds what its tags alone do not say
//
// Invariants:
//
//  1. No schema of an object is inline in another one: a generator never has to invent a name for a type.
//  2. A string with a fixed set of values has it as its enum, from the same list that the program uses.
package schemadoc
