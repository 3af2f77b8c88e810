package pmcdagent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// timezone is the local time zone as $TZ has it: its abbreviation and its present
// distance from UTC, hours west of it. There is no rule for summer time in it, as
// in the C implementation, so that it changes with the seasons.
func timezone() string { return posixZone(time.Now()) }

// posixZone is timezone at a time. An abbreviation that is no word, such as
// "+03", stands between angle brackets, without which no C library understands
// it.
func posixZone(t time.Time) string {
	name, east := t.Zone()
	if strings.IndexFunc(name, func(r rune) bool { return (r|0x20) < 'a' || (r|0x20) > 'z' }) >= 0 {
		name = "<" + name + ">"
	}
	if east == 0 {
		return name
	}
	sign := '+'
	if east > 0 {
		sign = '-'
	}
	minutes := max(east, -east) / 60
	if minutes%60 == 0 {
		return fmt.Sprintf("%s%c%d", name, sign, minutes/60)
	}
	return fmt.Sprintf("%s%c%d:%02d", name, sign, minutes/60, minutes%60)
}

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
