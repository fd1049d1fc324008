// Package mirror has the commands and flags of the mirror, the database of a venue's history.
package mirror
