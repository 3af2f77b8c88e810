package simple

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// maxLine is the maximum number of bytes that count of the file's first line.
const maxLine = 255

// A conf is the configuration file.
type conf struct {
	path string

	mu     sync.Mutex // guards what follows
	mtime  time.Time  // of the version that the instances come from
	failed pdu.Error  // why stat failed the last time; 0 if it did not
}

// check reads the file again if it has changed. Without a file there are no instances.
func (c *conf) check(d *pmda.InDom, log *slog.Logger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	st, err := os.Stat(c.path)
	if err != nil {
		if code := pdu.FromError(err); code != c.failed { // log it once
			log.Error("stat failed on " + c.path + ": " + code.Error())
			c.failed = code
		}
		d.SetInstances()
		c.mtime = time.Time{}
		return
	}
	c.failed = 0
	if st.ModTime().Equal(c.mtime) {
		return
	}
	c.mtime = st.ModTime()
	names, err := c.read(log)
	if err != nil {
		log.Error("cannot read " + c.path + ": " + err.Error())
	}
	if _, err := d.SetNames(names...); err != nil {
		log.Error(err.Error())
	}
	if len(names) == 0 {
		log.Warn(`"timenow" instance domain is empty`)
	}
}

// read returns the instances, which are separated by commas in the file.
func (c *conf) read(log *slog.Logger) ([]string, error) {
	f, err := os.Open(c.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, maxLine)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var names []string
	for name := range strings.SplitSeq(strings.TrimSuffix(line, "\n"), ",") {
		switch name {
		case "sec", "min", "hour":
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		case "":
		default:
			log.Warn(`ignoring "` + name + `" in ` + c.path)
		}
	}
	return names, nil
}
