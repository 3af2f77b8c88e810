package pmdaroot

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
)

// The bodies are those that PCP's programs exchange.
func TestContainer(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the bytes are those of a little-endian machine")
	}
	if b, err := containerBody("web"); err != nil || hex.EncodeToString(b) != "000000000400000077656200" {
		t.Errorf("request %x, %v", b, err)
	}
	for _, name := range []string{"", "a\x00b", strings.Repeat("n", 256)} {
		if b, err := containerBody(name); err == nil {
			t.Errorf("%.10q: %x", name, b)
		}
	}
	for _, tt := range []struct {
		body string
		pid  int32
		text string
		ok   bool
	}{
		{"0f00000009000000" + hex.EncodeToString([]byte("conthost1")), 15, "conthost1", true},
		{"0f00000004000000" + "77656200", 15, "web", true},
		{"0f00000000000000", 15, "", true},
		{"ffffffff00000000", -1, "", true},
		{"0f0000000a000000" + hex.EncodeToString([]byte("conthost1")), 0, "", false},
		{"0f000000ffffffff00", 0, "", false},
		{"0f000000000000", 0, "", false},
	} {
		body, err := hex.DecodeString(tt.body)
		if err != nil {
			t.Fatal(err)
		}
		if pid, text, err := parseContainer(body); pid != tt.pid || text != tt.text || (err == nil) != tt.ok {
			t.Errorf("%s: %d, %q, %v", tt.body, pid, text, err)
		}
	}
}

func FuzzContainer(f *testing.F) {
	f.Add([]byte("\x0f\x00\x00\x00\x04\x00\x00\x00web\x00"), "web")
	f.Add([]byte{}, "")
	f.Fuzz(func(t *testing.T, body []byte, name string) {
		if _, text, err := parseContainer(body); err == nil && !bytes.Contains(body, []byte(text)) {
			t.Errorf("%q is not in %x", text, body)
		}
		b, err := containerBody(name)
		if err != nil {
			return
		}
		if pid, text, err := parseContainer(b); pid != 0 || text != name || err != nil {
			t.Errorf("%q came back as %q, %d, %v", name, text, pid, err)
		}
	})
}
