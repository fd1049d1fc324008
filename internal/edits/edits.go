// Package edits compares names that people and models mistype.
package edits

// Between returns the number of bytes to insert, delete or replace to make b from a.
func Between(a, b string) int {
	row := make([]int, len(b)+1) // edits between the part of a so far and each prefix of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0]++
		for j := range len(b) {
			edits := before
			if a[i] != b[j] {
				edits++
			}
			before, row[j+1] = row[j+1], min(edits, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
