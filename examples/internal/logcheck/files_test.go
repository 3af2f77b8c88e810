package logcheck

import "testing"

func TestNotOf(t *testing.T) {
	const extension, other, digit = "not expected extension after basename", "first 6 chars not matched", "non-digit after basename"
	for _, test := range []struct{ file, want string }{
		{"ok-foo.0", ""}, {"ok-foo.12.xz", ""}, {"ok-foo.meta", ""}, {"ok-foo.index.gz", ""},
		{"ok-bar.0", other}, {"ok-foo.meta.1", other}, {"ok-bar.meta.gz", other},
		{"ok-foo", extension}, {"ok-foo.", extension}, {"ok-foo.1x", extension}, {"ok-foo.0.xz.xz", extension}, {"ok-foox.0", extension},
		{"ok-foo.-1", digit}, {"ok-foo.+1", digit}, {"", extension}, {".", extension},
	} {
		if got := notOf("ok-foo", test.file); got != test.want {
			t.Errorf("%s: %q, want %q", test.file, got, test.want)
		}
	}
}
