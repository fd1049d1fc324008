package server

import "testing"

// TestDivideFiles checks how many connections the listeners serve, and that they leave 512 files
// (docs/rules/limits.md#connections).
func TestDivideFiles(t *testing.T) {
	for files, want := range map[uint64]listenerPlaces{
		1 << 62: {api: 16_384, portal: 16_384, admin: 1024, acme: 1024},
		524_288: {api: 16_384, portal: 16_384, admin: 1024, acme: 1024},
		20_000:  {api: 13_080, portal: 4360, admin: 1024, acme: 1024},
		2048:    {api: 1008, portal: 336, admin: 96, acme: 96},
		1024:    {api: 336, portal: 112, admin: 32, acme: 32},
		256:     {api: 72, portal: 24, admin: 16, acme: 16},
	} {
		got := divideFiles(files)
		if got != want {
			t.Errorf("%d files: %+v, want %+v", files, got, want)
		}
		if sum := uint64(got.api + got.portal + got.admin + got.acme); files >= 1024 && sum+freeFiles > files {
			t.Errorf("%d files: %d places leave less than %d files", files, sum, freeFiles)
		}
	}
}
