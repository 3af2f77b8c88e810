package pmdalinux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// bandwidthFile is a file with the bandwidth of nodes, which an administrator writes because the
// kernel does not know it. The C agent reads the same file.
const bandwidthFile = "var/lib/pcp/pmdas/linux/bandwidth.conf"

// maxConfig is the maximum length of the file in bytes.
const maxConfig = 64 << 10

// bandwidths are the contents of the file.
type bandwidths struct {
	path string
	of   map[string]float64 // by node
	err  error
	next time.Time // when to read it again
}

// addBandwidth adds the metric of the file.
func (l *linux) addBandwidth() {
	b := &bandwidths{path: l.path(bandwidthFile)}
	pmda.Register(l.Agent, pmda.Metric[float64]{
		Name: "mem.numa.max_bandwidth", ID: pmda.Item(36, 38), InDom: l.nodes,
		Sem: pdu.SemDiscrete, Units: pdu.SpaceMByte | pdu.PerSec,
		Text: "What each node's memory can take and give at most, as the administrator says",
		Help: "It has values if there is a file /" + bandwidthFile + ", with a line\n" +
			"Version:1.0 and lines such as node0:1024 after it.",
		Group: l.Group(b.refresh),
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (float64, error) {
			if v, ok := b.of[i.Name]; ok {
				return v, nil
			}
			return 0, pmda.NoValue
		},
	})
}

// refresh reads the file if the last reading is older than recheckAfter.
func (b *bandwidths) refresh(context.Context, *pmda.Request) error {
	if now := time.Now(); !now.Before(b.next) {
		b.next = now.Add(recheckAfter)
		b.of, b.err = readBandwidths(b.path)
	}
	return b.err
}

// readBandwidths reads the file. Without a file there are no bandwidths.
func readBandwidths(path string) (map[string]float64, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig))
	if err != nil {
		return nil, err
	}
	of, ok := parseBandwidths(string(text))
	if !ok {
		return nil, fmt.Errorf("%s: Version:1.0 is missing before the nodes", path)
	}
	return of, nil
}

// parseBandwidths parses lines such as node0:1024. A # starts a comment. Other lines are ignored.
func parseBandwidths(text string) (of map[string]float64, ok bool) {
	of = map[string]float64{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		key, value, is := strings.Cut(line, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case !is:
		case !ok:
			if key != "Version" || value != "1.0" {
				return nil, false
			}
			ok = true
		default:
			if v, err := strconv.ParseFloat(value, 64); err == nil && v > 0 && !math.IsInf(v, 0) {
				of[key] = v
			}
		}
	}
	return of, ok || len(strings.TrimSpace(text)) == 0
}
