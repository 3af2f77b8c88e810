package pmcdagent

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// zoneinfo is the name of the local time zone after a colon, or "". Package time
// knows it if $TZ says it; else it is in the link that /etc/localtime is.
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
