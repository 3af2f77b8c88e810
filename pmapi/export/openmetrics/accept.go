package openmetrics

import (
	"strconv"
	"strings"
)

// A pageKind is what a scraper asks for: a format and how names are escaped.
type pageKind struct {
	format   Format
	escaping Escaping
	named    bool // the scraper has asked for an escaping, which the answer then names
}

// contentType is the Content-Type of a page.
func (p pageKind) contentType() string {
	text := "text/plain; version=0.0.4; charset=utf-8"
	switch {
	case p.format == OpenMetrics:
		text = "application/openmetrics-text; version=1.0.0; charset=utf-8"
	case p.format == Prometheus && p.named:
		text = "text/plain; version=1.0.0; charset=utf-8"
	}
	if p.named {
		text += "; escaping=" + p.escaping.String()
	}
	return text
}

// negotiate chooses what the header Accept likes best of what there is. plain is the format that text/plain means. Parameters that are
// not known are ignored, and what has the same weight stands in the order of the header.
func negotiate(accept string, plain Format) pageKind {
	best, weight := pageKind{format: plain}, 0.0
	for item := range strings.SplitSeq(accept, ",") {
		kind, q, ok := parseAccepted(item, plain)
		if ok && q > weight {
			best, weight = kind, q
		}
	}
	return best
}

// parseAccepted reads one item of the header Accept.
func parseAccepted(item string, plain Format) (kind pageKind, q float64, ok bool) {
	media, params, _ := strings.Cut(item, ";")
	q, version := 1.0, ""
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		value = strings.Trim(strings.TrimSpace(value), `"`)
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "q":
			var err error
			if q, err = strconv.ParseFloat(value, 64); err != nil || !(q >= 0 && q <= 1) {
				return kind, 0, false
			}
		case "version":
			version = value
		case "escaping":
			for e, word := range escapingNames {
				if value == word {
					kind.escaping, kind.named = Escaping(e), true
				}
			}
		}
	}
	switch strings.ToLower(strings.TrimSpace(media)) {
	case "application/openmetrics-text":
		kind.format = OpenMetrics
		return kind, q, version == "" || version == "1.0.0"
	case "text/plain":
		kind.format = plain
		if version == "1.0.0" {
			kind.format = Prometheus
			return kind, q, kind.named
		}
		kind.escaping, kind.named = Underscores, false
		return kind, q, version == "" || version == "0.0.4"
	case "text/*", "*/*":
		return pageKind{format: plain}, q, true
	}
	return kind, q, false
}
