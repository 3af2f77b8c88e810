package tool

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pmapi"
)

func (c *Command) setInterval(v string) error {
	d, err := pmapi.ParseInterval(v)
	if err != nil {
		function := "pmParseInterval"
		if c.HighRes {
			function = "pmParseHighResInterval"
		}
		return complaint(fmt.Sprintf("-t argument not in %s(3) format:\n%v\n", function, err))
	}
	c.Interval = d
	return nil
}

func (c *Command) setFinish(v string) error {
	c.finish, c.finishSet = v, true
	return nil
}

// window finds the end of a time window that begins now and has no end. Of what pmParseTimeWindow(3) takes for one, this
// is an interval from its beginning, or before now after a minus sign.
func (c *Command) window(now time.Time) error {
	c.Begin = now
	if !c.finishSet {
		return nil
	}
	text := strings.TrimLeft(c.finish, blanks)
	if strings.HasPrefix(text, "@") {
		return errors.New("-T with a time of day is not supported by this version")
	}
	text = strings.TrimPrefix(text, "+")
	interval, before := strings.CutPrefix(text, "-")
	if strings.Trim(interval, blanks) == "" {
		c.End = now.Add(-1) // so that nothing is left, not even a first sample
		return nil
	}
	d, err := pmapi.ParseInterval(interval)
	switch {
	case before && (err != nil || strings.Trim(interval, blanks+"0123456789.") == ""): // it wants a unit
		return complaint("invalid time window.\n" + text + "\n^ -- unexpected value\n")
	case err != nil:
		return complaint("invalid time window.\n" + err.Error() + "\n")
	case before:
		d = -d
	}
	c.End = now.Add(d)
	return nil
}

// blanks are those of isspace(3).
const blanks = " \t\n\v\f\r"
