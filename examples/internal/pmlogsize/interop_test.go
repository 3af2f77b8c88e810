package pmlogsize

import (
	"testing"

	"github.com/pcp-go/pcp/examples/internal/toolcmp"
)

const (
	crash  = toolcmp.Crash
	broken = "PCP's tool goes on after a broken record, with what is no record"
)

// TestArchives compares what PCP's tool and ours print of archives.
func TestArchives(t *testing.T) {
	toolcmp.Archives(t, "pmlogsize", []string{"--", "-r", "-vd"}, false, map[string]string{
		"-r archives/ace_v2":               crash,
		"-r archives/omnibus_v3":           crash,
		"-vd archives/omnibus_v3":          crash,
		"* badarchives/badlabel-1":         "PCP's tool takes a label with wrong magic for one",
		"-r badarchives/badlabel-2":        broken,
		"-vd badarchives/badlabel-2":       broken,
		"* badarchives/badlen-1":           broken,
		"* badarchives/badlen-2":           broken,
		"* badarchives/badlen-11":          broken,
		"* badarchives/badlen-9":           broken,
		"-r badarchives/badmeta-3":         crash,
		"-vd badarchives/badmeta-3":        crash,
		"-r badarchives/badmeta-4":         crash,
		"-vd badarchives/badmeta-4":        crash,
		"-r badarchives/badmeta-5":         crash,
		"-vd badarchives/badmeta-5":        crash,
		"* badarchives/corrupted_labelset": broken,
	})
}
