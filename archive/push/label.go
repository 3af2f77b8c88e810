package push

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/scan"
)

// Lengths of labels.
const (
	labelLenV2 = 132
	labelLenV3 = 808
)

// parseLabel parses and checks a label, which is untrusted input.
func parseLabel(b []byte) (archive.Label, error) {
	if len(b) != labelLenV2 && len(b) != labelLenV3 {
		return archive.Label{}, badRequest("label of %d bytes", len(b))
	}
	l, err := archive.ParseLabel(b)
	if err != nil || l.Len() != int64(len(b)) {
		return l, &failure{http.StatusUnprocessableEntity, fmt.Sprint("label: ", err)}
	}
	if y := l.Start.UTC().Year(); y < 1970 || y > 9999 {
		return l, &failure{http.StatusUnprocessableEntity, "label with a start in the year " + fmt.Sprint(y)}
	}
	switch {
	case !isHost(l.Host):
		return l, badRequest("label with host %q", l.Host)
	case !isZone(l.TimeZone), !isZone(l.ZoneInfo):
		return l, badRequest("label with time zone %q, %q", l.TimeZone, l.ZoneInfo)
	}
	return l, nil
}

// isHost reports whether s can be the name of a host, and of a directory that no command takes for
// an option.
func isHost(s string) bool {
	return s != "" && len(s) <= maxHost && s[0] != '.' && s[0] != '-' && consistsOf(s, "._-")
}

// isZone reports whether s can be a time zone.
func isZone(s string) bool {
	return s == "" || s[0] != '/' && !strings.Contains(s, "..") && consistsOf(s, "/_+-.:,")
}

// consistsOf reports whether a text has only ASCII letters, ASCII digits, and characters of others.
func consistsOf(s, others string) bool {
	for _, c := range []byte(s) {
		if !scan.IsAlnum(c) && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return true
}

// labelFor returns the label for another file of the archive.
func labelFor(label []byte, volume int) []byte {
	b := append([]byte(nil), label...)
	at := 24
	if len(b) == labelLenV2 {
		at = 20
	}
	binary.BigEndian.PutUint32(b[at:], uint32(int32(volume)))
	return b
}

// baseName is the name of an archive that begins at start, without a suffix like -01.
func baseName(start time.Time, utc bool) string {
	if utc {
		start = start.UTC()
	} else {
		start = start.Local()
	}
	return start.Format("20060102.15.04")
}
