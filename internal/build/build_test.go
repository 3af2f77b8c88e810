package build

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestBuildInfo(t *testing.T) {
	settings := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}
	for _, c := range []struct {
		name            string
		info            debug.BuildInfo
		version, commit string
	}{
		{"released", debug.BuildInfo{Main: debug.Module{Path: Path, Version: "v1.2.3"}, Settings: settings[:1]}, "v1.2.3", "abc"},
		{"from source", debug.BuildInfo{Main: debug.Module{Path: Path, Version: "(devel)"}, Settings: settings}, "", "abc+dirty"},
		{"other program", debug.BuildInfo{Main: debug.Module{Path: "x", Version: "v9"}, Settings: settings,
			Deps: []*debug.Module{{Path: Path, Version: "v1.0.0"}}}, "v1.0.0", ""},
		{"replaced", debug.BuildInfo{Deps: []*debug.Module{{Path: Path, Version: "v1.0.0", Replace: &debug.Module{Path: "../pcp"}}}}, "", ""},
		{"without", debug.BuildInfo{}, "", ""},
	} {
		if v, commit := versionOf(&c.info), commitOf(&c.info); v != c.version || commit != c.commit {
			t.Errorf("%s: %q %q, want %q %q", c.name, v, commit, c.version, c.commit)
		}
	}
	if text := Text("pmcd"); !strings.HasPrefix(text, "pmcd: "+Path+" ") || !strings.HasSuffix(text, "follows PCP "+PCP+"\n") {
		t.Error(text)
	}
}
