package webapi_test

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestInteropParameters makes requests to pmproxy and to a Gateway. Replies to those of
// testdata/alike.txt are equal after normalize. Those of unlike differ.
func TestInteropParameters(t *testing.T) {
	text, err := os.ReadFile("testdata/alike.txt")
	if err != nil {
		t.Fatal(err)
	}
	servers := newServers(t)
	var fills [2]*strings.Replacer
	for i, s := range servers {
		fills[i] = s.filler(t)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		n++
		method, path, _ := strings.Cut(line, " ")
		path, body, _ := strings.Cut(path, " ")
		body = strings.NewReplacer(`\n`, "\n").Replace(body)
		var replies [2]reply
		for i, s := range servers {
			replies[i] = normalize(s.do(t, method, fills[i].Replace(path), body), fills[i])
		}
		if c, ours := replies[0], replies[1]; c.status != ours.status || c.body != ours.body {
			t.Errorf("%s: %d\n%s\nwant %d\n%s", line, ours.status, ours.body, c.status, c.body)
		}
		sameHeaders(t, line, method, replies[0].header, replies[1].header)
	}
	if n < 300 {
		t.Errorf("%d requests", n)
	}
	for i, s := range servers {
		for _, r := range unlike {
			checkRow(t, s, r, fills[i])
		}
	}
}

// sameHeaders compares headers of replies. The Gateway sends additional headers, types with a
// version, and no permission for all origins.
func sameHeaders(t *testing.T, line, method string, c, ours http.Header) {
	t.Helper()
	if got, _, _ := strings.Cut(ours.Get("Content-Type"), ";"); got != c.Get("Content-Type") {
		t.Errorf("%s: %s, want %s", line, got, c.Get("Content-Type"))
	}
	if origin := ours.Get("Access-Control-Allow-Origin"); origin != "" {
		t.Errorf("%s: pages of %s may read", line, origin)
	}
	if method == http.MethodOptions {
		if want := strings.Replace(c.Get("Access-Control-Allow-Methods"), "TRACE, ", "", 1); ours.Get("Allow") != want {
			t.Errorf("%s: %v, want %s", line, ours, want)
		}
		return
	}
	if ours.Get("Cache-Control") != "no-store" || ours.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s: %v", line, ours)
	}
}

var (
	refused   = regexp.MustCompile(`(cannot connect to PMCD: Connection refused): [^"]*`)
	aliases   = regexp.MustCompile(`\{"pmid":"?[\d.]+"?,"name":"sample\.dupnames\.[^"]*","instances":\[[^\]]*\]\},?`)
	times     = regexp.MustCompile(`"timestamp":([\d.]+|\{[^}]*\})`)
	numbers   = regexp.MustCompile(`"context":\d+`)
	colours   = regexp.MustCompile(`"value":[123]\d\d\b`)
	instances = regexp.MustCompile(`\{"instance":\d+,"name":"[^"]*","labels":\{[^}]*\}\},?`)
	ofInst    = regexp.MustCompile(`,"labels":\{[^}]*\}\},?`)
	labelsOf  = regexp.MustCompile(`(?m)\{.*\}`)
	derivedID = regexp.MustCompile(`"511\.2047\.\d+"`)
)

// normalize removes expected differences, and defects of pmproxy in these rows of the checklist:
// second names of a metric (11), labels of instances (15) and of pages (15, 20), and the order of
// instances.
func normalize(r reply, fill *strings.Replacer) reply {
	b := strings.ReplaceAll(r.body, fill.Replace(`"context":$C`), `"context":C`)
	b = refused.ReplaceAllString(b, "$1") // the Gateway adds the address
	b = aliases.ReplaceAllString(b, "")
	b = times.ReplaceAllString(b, `"timestamp":0`)
	b = numbers.ReplaceAllString(b, `"context":1`)
	b = colours.ReplaceAllString(b, `"value":C`)
	b = derivedID.ReplaceAllString(b, `"derived"`)
	if all := instances.FindAllString(b, -1); len(all) > 0 {
		for i := range all {
			all[i] = ofInst.ReplaceAllString(all[i], "")
		}
		slices.Sort(all)
		b = instances.ReplaceAllString(b, "") + strings.Join(all, "")
	}
	if strings.HasPrefix(b, "# PCP") {
		b = labelsOf.ReplaceAllStringFunc(b, func(s string) string {
			var kept []string
			for l := range strings.SplitSeq(strings.Trim(s, "{}"), ",") {
				if strings.HasPrefix(l, "inst") {
					kept = append(kept, l)
				}
			}
			slices.Sort(kept)
			return "{" + strings.Join(kept, ",") + "}"
		})
	}
	r.body = b
	return r
}
