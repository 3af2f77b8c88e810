package pmstat

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/examples/internal/pcptool/timecontrol"
	"github.com/pcp-go/pcp/pdu"
)

// A report prints the rows.
type report struct {
	*command
	out     *bufio.Writer
	sources []*source
	several bool // sources, whose hosts' names stand before the rows
	samples int  // 0 for no end
	rows    int  // how many rows there are below a header

	control *timecontrol.Control // nil without -g and -p
	moved   bool                 // the server has changed what the header says
	beyond  bool                 // the end of an archive
}

// print prints the rows of all samples.
func (r *report) print(ctx context.Context) error {
	for _, s := range r.sources {
		_ = s.fetch(ctx) // only the rates of the first row need it
	}
	again := false
	for n := 0; r.samples == 0 || n < r.samples; n++ {
		if again || r.rows == 0 || n*len(r.sources)%r.rows < len(r.sources) {
			r.printHeader()
		}
		r.out.Flush()
		var err error
		if again, err = r.await(ctx); err != nil {
			return err
		} else if again {
			continue
		}
		for _, s := range r.sources {
			if err := r.printSample(ctx, s); err != nil {
				return err
			}
		}
		if err := r.acknowledge(); err != nil {
			return err
		}
		if r.ended() {
			r.out.Flush()
			return r.endError()
		}
	}
	return nil
}

// endError returns the error of a report whose sources have all ended. Like PCP's, the exit status
// is 0 if no archive has data.
func (r *report) endError() error {
	for _, s := range r.sources {
		if !s.noData {
			return &pcptool.ExitError{Status: 1, Err: pdu.ErrEOL}
		}
	}
	return nil
}

// await waits for the next sample. It does not wait for a sample of an archive, except with -P.
// again reports that the header is printed once more instead.
func (r *report) await(ctx context.Context) (again bool, err error) {
	if r.control != nil {
		return r.awaitStep(ctx)
	}
	if r.pause || !r.sources[0].isArchive {
		time.Sleep(r.Interval)
	}
	return false, nil
}

// ended reports whether all sources have ended.
func (r *report) ended() bool {
	return !slices.ContainsFunc(r.sources, func(s *source) bool { return !s.dropped })
}

// printSample fetches and prints the sample of a source.
func (r *report) printSample(ctx context.Context, s *source) error {
	if r.several {
		r.printNode(s)
	}
	if s.dropped {
		return r.out.WriteByte('\n')
	}
	err := s.fetch(ctx)
	switch code := pdu.FromError(err); {
	case err == nil:
		r.printRow(s)
		s.printed = true
	case code == pdu.ErrIPC || code == pdu.ErrTimeout:
		fmt.Fprintf(r.out, " Fetch failed. Reconnecting ...\n")
		r.out.Flush()
		_ = s.pc.Reconnect(ctx) // the next fetch says whether it has succeeded
	case code == pdu.ErrEOL && r.control != nil:
		return r.atEnd()
	case code == pdu.ErrEOL && !s.printed && !s.noData:
		fmt.Fprintf(r.out, " No data in the archive\n")
		s.noData = s.isPast(ctx) // else its beginning is still to come
	default:
		fmt.Fprintf(r.out, " pmFetchGroup: %v\n", pcptool.Cause(err))
		s.dropped = true
	}
	return nil
}

// printNode prints the start of the name of a source's host, or with -l its end.
func (r *report) printNode(s *source) {
	name := s.node
	if r.suffix {
		name = name[max(0, len(name)-nodeWidth):]
	}
	fmt.Fprintf(r.out, "%-*.*s", nodeWidth, nodeWidth, name)
}
