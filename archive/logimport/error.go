package logimport

import "strconv"

// An Error is a PMI_ERR_* code of libpcp_import. Methods of Importer return it for invalid
// arguments. Other failures are codes of package pdu and errors of package archive.
type Error int32

// The errors that programs most often handle are exported.
const (
	ErrDupMetricName   Error = -20001 - iota // the name of a metric is taken
	errDupMetricID                           // the PMID of a metric is taken
	ErrDupInstName                           // the name of an instance is taken
	errDupInstID                             // the identifier of an instance is taken
	errInstNotNull                           // an instance for a singular metric
	errInstNull                              // no instance for a non-singular metric
	errBadHandle                             // the zero Handle
	ErrDupValue                              // a second value before the next Write
	errBadType                               // an invalid type
	errBadSem                                // unknown semantics
	ErrNoData                                // nothing to write
	errBadMetricName                         // an invalid name of a metric
	errBadTimestamp                          // a time before that of the last record
	errBadTextType                           // help text of something other than a metric or an instance domain
	errBadTextClass                          // help text that is neither a line nor long
	errBadTextID                             // help text of NoPMID or NoInDom
	errEmptyText                             // help text that is empty
	ErrDupText                               // the same help text again
	errBadLabelType                          // an unknown class of labels
	errBadLabelID                            // labels of NoPMID, NoInDom or no domain
	errBadLabelInst                          // labels of no instance
	errEmptyLabelName                        // a label without a name
	errEmptyLabelValue                       // a label without a value
	errAddLabel                              // an invalid label
	errBadVersion                            // an archive version other than 2 and 3
)

var errorTexts = [...]string{
	"Metric name already defined",
	"Metric pmID already defined",
	"External instance name already defined",
	"Internal instance identifer already defined",
	"Null instance expected for a singular metric",
	"Null instance not allowed for a non-singular metric",
	"Illegal handle",
	"Value already assigned for this metric-instance",
	"Illegal metric type",
	"Illegal metric semantics",
	"No data to output",
	"Illegal metric name",
	"Illegal result timestamp",
	"Illegal text type",
	"Illegal text class",
	"Illegal text identifier",
	"Text is empty",
	"Help text already exists",
	"Illegal label type",
	"Illegal label identifier",
	"Illegal label instance",
	"Label name is empty",
	"Label value is empty",
	"Error adding label",
	"Illegal log version",
}

// Error returns the text of pmiErrStr(3) for e.
func (e Error) Error() string {
	if e <= ErrDupMetricName && e >= errBadVersion {
		return errorTexts[ErrDupMetricName-e]
	}
	return "No such PMAPI error code (" + strconv.Itoa(int(e)) + ")"
}
