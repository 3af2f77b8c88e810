package pmapi

import (
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
	"github.com/pcp-go/pcp/pmns"
)

// withOverlays is a source as contexts use it: with names from a tree instead of its own, unless that is nil, with the metrics
// of event records, and with derived metrics.
func withOverlays(src source.Source, names *pmns.Tree, d *Derived) source.Source {
	if names != nil {
		src = &namesOverlay{src, source.TreeNames{Tree: names}}
	}
	return newDerivedOverlay(&eventOverlay{src}, d)
}

// overlay answers those requests that are about metrics of an overlay, and has the source below answer the others.
func overlay[Q, A any](reqs []Q, mine func(Q) bool, answer func(Q) (A, error), below func([]Q) ([]A, source.Errors, error)) ([]A, source.Errors, error) {
	others := slices.DeleteFunc(slices.Clone(reqs), mine)
	if len(others) == len(reqs) {
		return below(reqs)
	}
	var answers []A
	var errs source.Errors
	if len(others) > 0 {
		var err error
		if answers, errs, err = below(others); err != nil {
			return nil, nil, err
		}
	}
	all := make([]A, len(reqs))
	var allErrs source.Errors
	n := 0 // others so far
	for i, r := range reqs {
		var err error
		if mine(r) {
			all[i], err = answer(r)
		} else {
			all[i], err = answers[n], errs.At(n)
			n++
		}
		if err != nil {
			allErrs.Set(i, len(reqs), err)
		}
	}
	return all, allErrs, nil
}

// isBelow reports whether a metric is at or below a name.
func isBelow(metric, name string) bool {
	rest, ok := strings.CutPrefix(metric, name)
	return ok && (name == "" || rest == "" || rest[0] == '.')
}

// addNames adds those of more names that are at or below a name to those of the source, whose error is err. The error is nil if
// there are any now.
func addNames(name string, names []string, err error, more []string) ([]string, error) {
	if err != nil && pdu.FromError(err) != pdu.ErrName {
		return names, err
	}
	for _, m := range more {
		if isBelow(m, name) && !slices.Contains(names, m) {
			names, err = append(names, m), nil
		}
	}
	return names, err
}

// insertNames is addNames for names that are in the order of a tree, as those of archives: each goes behind what has most of its
// components in common with it.
func insertNames(name string, names []string, err error, more []string) ([]string, error) {
	added, err := addNames(name, names, err, more)
	for i := len(names); i < len(added); i++ {
		at := placeOf(added[i], added[:i])
		moved := added[i]
		copy(added[at+1:i+1], added[at:i])
		added[at] = moved
	}
	return added, err
}

// placeOf is where a name belongs among others.
func placeOf(name string, others []string) int {
	for prefix := name; prefix != ""; prefix = prefix[:max(strings.LastIndexByte(prefix, '.'), 0)] {
		for i := len(others) - 1; i >= 0; i-- {
			if rest, ok := strings.CutPrefix(others[i], prefix); ok && (rest == "" || rest[0] == '.') {
				return i + 1
			}
		}
	}
	return len(others)
}

// addChildren adds what is directly below a name of more names to what the source has there.
func addChildren(name string, children []pmns.Child, err error, more []string) ([]pmns.Child, error) {
	names, err := addNames(name, nil, err, more)
	for _, n := range names {
		rest := n
		if name != "" {
			rest = strings.TrimPrefix(n, name)
			if rest = strings.TrimPrefix(rest, "."); rest == "" {
				continue // the name itself
			}
		}
		first, _, deeper := strings.Cut(rest, ".")
		if !slices.ContainsFunc(children, func(c pmns.Child) bool { return c.Name == first }) {
			children = append(children, pmns.Child{Name: first, Leaf: !deeper})
		}
	}
	return children, err
}
