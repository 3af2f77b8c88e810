package pmdammv

import (
	"slices"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
)

// difference returns the changes to report to clients when another snapshot replaces s. Names
// change if there are other names, or other metrics with the same names. Labels change if there may
// be other labels. New instances and values are not changes.
func (s *snapshot) difference(to *snapshot) pdu.Change {
	var c pdu.Change
	if !slices.EqualFunc(s.files, to.files, sameMetrics) {
		c |= pdu.ChangeNames
	}
	if !slices.EqualFunc(s.files, to.files, sameLabels) {
		c |= pdu.ChangeLabels
	}
	return c
}

// sameMetrics reports whether two files have metrics with the same names, numbers and descriptors.
func sameMetrics(a, b file) bool {
	return a.entry == b.entry && a.cluster == b.cluster ||
		a.name == b.name && a.cluster == b.cluster && a.prefix() == b.prefix() &&
			slices.EqualFunc(a.file.Metrics, b.file.Metrics, func(a, b mmv.FileMetric) bool {
				return a.Name == b.Name && a.Item == b.Item && a.Type == b.Type && a.Elapsed == b.Elapsed && a.Sem == b.Sem && a.Units == b.Units && a.InDom == b.InDom
			})
}

// sameLabels reports whether two files have the same labels.
func sameLabels(a, b file) bool {
	return a.cluster == b.cluster && (a.entry == b.entry || slices.Equal(a.file.Labels, b.file.Labels))
}
