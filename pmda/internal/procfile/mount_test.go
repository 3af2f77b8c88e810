package procfile

import "testing"

func TestParseMount(t *testing.T) {
	for _, tt := range []struct {
		line, device, dir, kind, options string
		ok                               bool
	}{
		{"/dev/sda1 /boot ext4 rw,relatime 0 0", "/dev/sda1", "/boot", "ext4", "rw,relatime", true},
		{" /proc proc rw,hidepid=2 0 0", "", "/proc", "proc", "rw,hidepid=2", true},
		{`a\040b /mnt/c\040d xfs ro 1 2`, `a\040b`, `/mnt/c\040d`, "xfs", "ro", true},
		{"/dev/sda1 /boot ext4 rw", "/dev/sda1", "/boot", "ext4", "rw", false},
		{"/dev/sda1 /boot ext4 rw 0 x", "/dev/sda1", "/boot", "ext4", "rw", false},
		{"/dev/sda1 /boot", "/dev/sda1", "/boot", "", "", false},
		{"", "", "", "", "", false},
	} {
		m, ok := ParseMount([]byte(tt.line))
		if string(m.Device) != tt.device || string(m.Dir) != tt.dir || string(m.Kind) != tt.kind || string(m.Options) != tt.options || ok != tt.ok {
			t.Errorf("%q: got %q, %v", tt.line, m, ok)
		}
	}
}

func TestUnescape(t *testing.T) {
	for path, want := range map[string]string{
		"":                 "",
		"/boot":            "/boot",
		`/a\040b\011\134c`: "/a b\t\\c",
		`\000\400\08`:      `\000\400\08`,
		`/end\04`:          `/end\04`,
		`/caf\303\251`:     "/café",
	} {
		if got := Unescape([]byte(path)); got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
}
