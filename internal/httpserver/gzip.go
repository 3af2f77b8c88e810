package httpserver

import (
	"bytes"
	"compress/gzip"
	"strconv"
	"strings"
	"sync"
)

var gzipWriters = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is valid
	}
	return z
}}

// Gzip returns a page compressed with gzip, at the level for speed.
func Gzip(page []byte) []byte {
	var b bytes.Buffer
	z := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(z)
	z.Reset(&b)
	z.Write(page) // into memory: cannot fail
	z.Close()
	return b.Bytes()
}

// AcceptsGzip reports whether a header Accept-Encoding accepts gzip, with a weight above 0.
func AcceptsGzip(header string) bool {
	for item := range strings.SplitSeq(header, ",") {
		coding, params, _ := strings.Cut(item, ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			name, value, _ := strings.Cut(strings.TrimSpace(params), "=")
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return !strings.EqualFold(strings.TrimSpace(name), "q") || err != nil || q > 0
		}
	}
	return false
}
