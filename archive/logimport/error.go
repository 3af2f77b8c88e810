package logimport

import "strconv"

// An Error is why a call of an Importer fails: a PMI_ERR_* code of the C library, with its text.
// Other failures are codes of package pdu and errors of package archive.
type Error int32

// The errors.
const (
	ErrDupMetricName   Error = -20001 - iota // the name of a metric is taken
	ErrDupMetricID                           // the PMID of a metric is taken
	ErrDupInstName                           // the name of an instance is taken
	ErrDupInstID                             // the identifier of an instance is taken
	ErrInstNotNull                           // an instance of a metric that has none
	ErrInstNull                              // no instance of a metric that has some
	ErrBadHandle                             // a handle of no metric
	ErrDupValue                              // a second value at the same time
	ErrBadType                               // a type that no value has
	ErrBadSem                                // semantics that there are not
	ErrNoData                                // nothing to write
	ErrBadMetricName                         // a name that none can have
	ErrBadTimestamp                          // a time before that of the last record
	ErrBadTextType                           // help text of something other than a metric or an instance domain
	ErrBadTextClass                          // help text that is neither a line nor long
	ErrBadTextID                             // help text of NoPMID or NoInDom
	ErrEmptyText                             // help text that is empty
	ErrDupText                               // the same help text again
	ErrBadLabelType                          // a class of labels that there is not
	ErrBadLabelID                            // labels of NoPMID, NoInDom or no domain
	ErrBadLabelInst                          // labels of no instance
	ErrEmptyLabelName                        // a label without a name
	ErrEmptyLabelValue                       // a label without a value
	ErrAddLabel                              // a label that cannot be one
	ErrBadVersion                            // a version of archives that cannot be written
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

// Error is the text of pmiErrStr(3).
func (e Error) Error() string {
	if e <= ErrDupMetricName && e >= ErrBadVersion {
		return errorTexts[ErrDupMetricName-e]
	}
	return "No such PMAPI error code (" + strconv.Itoa(int(e)) + ")"
}
