package pmcdagent

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// zoneinfo returns a colon and the name of the local time zone, or "". The name comes from package
// time if $TZ is set, and otherwise from the target of the link /etc/localtime.
func zoneinfo() string {
	name := time.Local.String()
	if name == "Local" {
		to, err := filepath.EvalSymlinks("/etc/localtime")
		if err != nil {
			return ""
		}
		name = to
	}
	if _, zone, ok := strings.Cut(filepath.ToSlash(name), "/zoneinfo/"); ok {
		name = zone
	}
	if name == "" || filepath.IsAbs(name) || os.PathSeparator == '\\' && strings.Contains(name, ":") {
		return ""
	}
	return ":" + name
}
