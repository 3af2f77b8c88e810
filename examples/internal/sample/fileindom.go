package sample

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

const (
	itemFileCounter  = 76
	itemFileDiscrete = 77
	itemFileInstant  = 78
)

// maxInDomFile is the maximum number of bytes that are read of the file.
const maxInDomFile = 1 << 20

// fileInDom is an instance domain in a file. Each line has a number and a name. It is empty if the
// file does not exist or has a fault.
type fileInDom struct {
	path    string // empty if there is no file
	log     func() *slog.Logger
	indom   *pmda.InDom
	modTime time.Time            // of the file that was read; zero if there was none
	fetches map[pdu.InstID]int32 // since the file has changed
}

func (s *sample) registerFileInDom() {
	f := &s.dynamic.file
	if s.opts.Dir != "" {
		f.path = filepath.Join(s.opts.Dir, "dynamic.indom")
	}
	f.log = s.agent.Log
	f.indom = s.attach(7, "file", nil)
	value := func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int32, error) { return f.fetches[i.ID], nil }
	add(s, itemFileCounter, pmda.Metric[int32]{Name: "dynamic.counter", Sem: pdu.SemCounter, Units: pdu.UnitCount, InDom: f.indom, Value: value})
	add(s, itemFileDiscrete, pmda.Metric[int32]{Name: "dynamic.discrete", Sem: pdu.SemDiscrete, Units: pdu.UnitCount, InDom: f.indom, Value: value})
	add(s, itemFileInstant, pmda.Metric[int32]{Name: "dynamic.instant", Units: pdu.UnitCount, InDom: f.indom, Value: value})
}

// refresh reads the file if it has changed.
func (f *fileInDom) refresh() {
	if f.path == "" {
		return
	}
	var modTime time.Time
	info, err := os.Stat(f.path)
	if err == nil {
		modTime = info.ModTime()
	}
	if modTime.Equal(f.modTime) {
		return
	}
	f.modTime, f.fetches = modTime, map[pdu.InstID]int32{}
	var list []pdu.Instance
	if err == nil {
		list, err = readInDomFile(f.path)
	}
	if err == nil {
		_, err = f.indom.SetInstances(list...)
	}
	if err != nil {
		_, _ = f.indom.SetInstances()
		if !os.IsNotExist(err) {
			f.log().Error("bad file of instances", slog.String("file", f.path), slog.Any("err", err))
		}
	}
}

// count counts a fetch of every instance.
func (f *fileInDom) count() {
	f.refresh()
	for _, i := range f.indom.Instances() {
		f.fetches[i.ID]++
	}
}

func readInDomFile(path string) ([]pdu.Instance, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxInDomFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxInDomFile {
		return nil, fmt.Errorf("longer than %d bytes", maxInDomFile)
	}
	return parseInDomFile(string(b))
}

// parseInDomFile parses pairs of a number and a name. The name may follow its number without a
// separator, but must be on the same line.
func parseInDomFile(text string) (list []pdu.Instance, err error) {
	const blank = " \t\v\f\r"
	for {
		text = strings.TrimLeft(text, blank+"\n")
		if text == "" {
			return list, nil
		}
		digits := text[:len(text)-len(strings.TrimLeft(strings.TrimLeft(text, "+-"), "0123456789"))]
		id, err := strconv.Atoi(digits)
		if err != nil {
			line, _, _ := strings.Cut(text, "\n")
			return nil, fmt.Errorf("no number at %.40q", line)
		}
		if id < 0 || id > pdu.MaxInDomSerial {
			return nil, fmt.Errorf("%d is no number of an instance", id)
		}
		text = strings.TrimLeft(text[len(digits):], blank)
		end := strings.IndexAny(text+"\n", blank+"\n")
		if end == 0 {
			return nil, fmt.Errorf("no name after the number %d", id)
		}
		list = append(list, pdu.Instance{ID: pdu.InstID(id), Name: text[:end]})
		text = text[end:]
	}
}
