// Package build tells which build of this module a program is.
package build

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
)

// PCP is the release of Performance Co-Pilot whose options, messages and metrics this module has.
const PCP = "6.0.3"

// Path is the path of this module.
const Path = "github.com/pcp-go/pcp"

// Version is the version of this module in the program, empty if it was not built as a released
// module.
func Version() string {
	version, _ := read()
	return version
}

// Commit is the commit that the program was built from, empty if it is not known: in a program of
// another module, say. It ends with "+dirty" if files were changed since.
func Commit() string {
	_, commit := read()
	return commit
}

var read = sync.OnceValues(func() (version, commit string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	return versionOf(info), commitOf(info)
})

func versionOf(info *debug.BuildInfo) string {
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path != Path {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		return strings.Trim(strings.TrimPrefix(m.Version, "(devel)"), "()")
	}
	return ""
}

func commitOf(info *debug.BuildInfo) string {
	if info.Main.Path != Path {
		return ""
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	commit := settings["vcs.revision"]
	if commit != "" && settings["vcs.modified"] == "true" {
		commit += "+dirty"
	}
	return commit
}

// Asked reports whether a command line is --version alone.
func Asked(args []string) bool { return len(args) == 1 && args[0] == "--version" }

// Text is the line that the option --version prints for a program.
func Text(program string) string {
	return fmt.Sprintf("%s: %s %s, commit %s, follows PCP %s\n", program, Path, cmp.Or(Version(), "devel"), cmp.Or(Commit(), "unknown"), PCP)
}
