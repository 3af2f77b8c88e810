package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// TestCheckAlone checks rules without an output archive.
func TestCheckAlone(t *testing.T) {
	dir := t.TempDir()
	in, rules := filepath.Join(dir, "in"), filepath.Join(dir, "rules")
	im, err := logimport.New(in, archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = im.AddMetric("m.x", pdu.Desc{Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant})
	err = errors.Join(err, im.Put("m.x", "", pdu.Uint32(1)), im.Write(time.Unix(1000, 0)), im.Close(),
		os.WriteFile(rules, []byte("metric m.x { name -> m.y }"), 0o666))
	if err != nil {
		t.Fatal(err)
	}
	old := os.Args
	defer func() { os.Args = old }()
	for _, test := range []struct {
		args []string
		bad  bool
	}{
		{[]string{"-C", "-c", rules, in}, false},
		{[]string{"-C", "-c", rules, in, in + ".out"}, false},
		{[]string{"-C", "-c", rules}, true},
		{[]string{"-c", rules, in}, true},
	} {
		os.Args = append([]string{"pmlogrewrite"}, test.args...)
		r := new(rewriter)
		if err := r.run(t.Context(), newCommand(r)); errors.Is(err, tool.ErrUsage) != test.bad || err != nil && !test.bad {
			t.Errorf("%q: %v", test.args, err)
		}
	}
	if files, _ := filepath.Glob(in + ".out*"); files != nil {
		t.Errorf("-C has left %v", files)
	}
}
