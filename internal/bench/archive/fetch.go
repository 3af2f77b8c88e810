//go:build linux

package main

import (
	"context"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// newFetcher reads results through a context. The last of numbers is how many metrics.
func newFetcher(name, mode string, numbers []int) (*reader, error) {
	ctx := context.Background()
	c, err := pmapi.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	names, err := c.Traverse(ctx, "")
	if err != nil {
		return nil, err
	}
	names = spread(names, numbers[len(numbers)-1])
	l, err := c.ArchiveLabel()
	if err != nil {
		return nil, err
	}
	how, step := pmapi.ModeForward, time.Duration(0)
	if mode == "interp" {
		how, step = pmapi.ModeInterp, time.Duration(numbers[0])*time.Millisecond
	}
	if err := c.SetMode(ctx, how, l.Start, step); err != nil {
		return nil, err
	}
	r := &reader{close: c.Close}
	if mode == "group" {
		g := c.Group()
		var sets []*pmapi.Set[float64]
		for _, name := range names {
			sets = append(sets, pmapi.AddSet[float64](g, name))
		}
		r.next = func() error {
			_, err := g.Fetch(ctx)
			for _, s := range sets {
				r.values += s.Len()
			}
			return err
		}
		return r, nil
	}
	ids, err := c.Lookup(ctx, names)
	if err != nil {
		return nil, err
	}
	var res pdu.Result
	r.next = func() error {
		if err := c.Fetch(ctx, ids, &res); err != nil {
			return err
		}
		r.count(&res)
		return nil
	}
	return r, nil
}

// spread is n of the names, evenly over all; 0 means all.
func spread(names []string, n int) []string {
	if n == 0 || n > len(names) {
		return names
	}
	list := make([]string, n)
	for i := range list {
		list[i] = names[i*len(names)/n]
	}
	return list
}
