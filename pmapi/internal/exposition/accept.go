package exposition

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// A Style is the format of a page and the escaping of its names.
type Style struct {
	Format   Format
	Escaping Escaping

	named bool // the scraper requested an escaping, so Content-Type names it
}

// ContentType returns the header Content-Type of a page.
func (s Style) ContentType() string {
	text := "text/plain; version=0.0.4; charset=utf-8"
	switch {
	case s.Format == OpenMetrics:
		text = "application/openmetrics-text; version=1.0.0; charset=utf-8"
	case s.Format == Prometheus && s.named:
		text = "text/plain; version=1.0.0; charset=utf-8"
	}
	if s.named {
		text += "; escaping=" + s.Escaping.String()
	}
	return text
}

// negotiate returns the supported style that the header Accept prefers. plain is the format for
// text/plain and for a header without a format. Unknown parameters are ignored. Styles of equal
// weight rank in the order of the header.
func negotiate(accept string, plain Format) Style {
	best, weight := Style{Format: plain}, 0.0
	for item := range strings.SplitSeq(accept, ",") {
		style, q, ok := parseAccepted(item, plain)
		if ok && q > weight {
			best, weight = style, q
		}
	}
	return best
}

// StyleOf returns the style for the value of the parameter format or, if that is "", for the header
// Accept. plain is as in negotiate.
func StyleOf(req *http.Request, format string, plain Format) (Style, error) {
	if format == "" {
		return negotiate(strings.Join(req.Header.Values("Accept"), ","), plain), nil
	}
	f, ok := parseFormat(format)
	if !ok {
		return Style{}, errors.New("format is none of openmetrics, prometheus, pcp")
	}
	return Style{Format: f}, nil
}

// parseFormat returns the format with a name: openmetrics, prometheus or pcp.
func parseFormat(name string) (f Format, ok bool) {
	i := slices.Index([]string{"openmetrics", "prometheus", "pcp"}, name)
	return Format(max(i, 0)), i >= 0
}

// parseAccepted parses one item of the header Accept.
func parseAccepted(item string, plain Format) (style Style, q float64, ok bool) {
	media, params, _ := strings.Cut(item, ";")
	q, version := 1.0, ""
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		value = strings.Trim(strings.TrimSpace(value), `"`)
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "q":
			var err error
			if q, err = strconv.ParseFloat(value, 64); err != nil || !(q >= 0 && q <= 1) {
				return style, 0, false
			}
		case "version":
			version = value
		case "escaping":
			style.named = style.named || slices.Contains(escapingNames[:Colons], value)
		}
	}
	switch strings.ToLower(strings.TrimSpace(media)) {
	case "application/openmetrics-text":
		style.Format = OpenMetrics
		return style, q, version == "" || version == "1.0.0"
	case "text/plain":
		style.Format = plain
		if version == "1.0.0" {
			style.Format = Prometheus
			return style, q, style.named
		}
		style.named = false
		return style, q, version == "" || version == "0.0.4"
	case "text/*", "*/*":
		return Style{Format: plain}, q, true
	}
	return style, q, false
}
