package report

import "time"

// An Output is what a report becomes.
type Output int

// The outputs.
const (
	OutputStdout  Output = iota // text in columns
	OutputCSV                   // comma-separated values
	OutputArchive               // an archive
)

// RepeatAuto is the Options.RepeatHeader that follows the height of the terminal.
const RepeatAuto = -1

// Unset is the WidthForce or PrecisionForce of Options that do not force any.
const Unset = -1

// Options are the options of a report, in the order of pmrep's manual. NewOptions makes those
// without any option given. The name of each in configuration files is in the comment.
type Options struct {
	Source    string   // source: of archives or of a host, "@" for a local context
	SpecLocal []string // speclocal
	Output    Output   // output
	OutFile   string   // -F
	Derived   []string // derived: definitions and names of files
	Daemonize bool     // daemonize

	Header    bool // header
	UnitInfo  bool // unitinfo: the line of units
	InstInfo  bool // instinfo: the line of instances; with csv, their names in those of columns
	Globals   bool // globals: the metrics of [global] are reported, too
	Timestamp bool // timestamp: there is a column of times

	Samples  int           // samples: how many, 0 for no end
	Interval time.Duration // interval
	Delay    bool          // delay, which has no effect
	Interpol bool          // interpol: archives are interpolated at the interval

	Raw            bool // type: no metric is converted to rates
	RawPrefer      bool // type_prefer: only metrics whose specification wants it are
	IgnoreIncompat bool // ignore_incompat
	IgnoreUnknown  bool // ignore_unknown
	NamesChange    int  // names_change: NamesIgnore, NamesAbort or NamesUpdate

	Instances        []string // instances: filters of all metrics without their own
	LiveFilter       bool     // live_filter
	Rank             int      // rank: the greatest, or the least if it is below 0
	OverallRank      bool     // overall_rank
	OverallRankAlt   bool     // overall_rank_alt
	LimitFilter      int      // limit_filter
	LimitFilterForce int      // limit_filter_force
	InvertFilter     bool     // invert_filter
	Predicates       []string // predicate: names of metrics
	SortMetrics      []string // sort_metric: names of metrics, with "-" in front for ascending order
	OmitFlat         bool     // omit_flat

	IncludeLabels bool   // include_labels
	IncludeTexts  bool   // include_texts
	Swapped       bool   // colxrow is given: rows are instances, columns are metrics
	SwapLabel     string // colxrow: the heading of the column of instances

	Width          int    // width: 0 for that of the label
	WidthForce     int    // width_force, or Unset
	Precision      int    // precision
	PrecisionForce int    // precision_force, or Unset
	Delimiter      string // delimiter, as it is used: the default of the output if none is given
	ExtendedCSV    bool   // extcsv
	ExtendedHeader bool   // extheader
	FixedHeader    bool   // fixed_header
	RepeatHeader   int    // repeat_header: RepeatAuto, or 0 for none
	DynamicHeader  bool   // dynamic_header
	SeparateHeader bool   // separate_header
	TimeFormat     string // timefmt, as it is used: the default of the output if none is given

	CountScale, SpaceScale, TimeScale                string // count_scale, …
	CountScaleForce, SpaceScaleForce, TimeScaleForce string // count_scale_force, …

	// CounterWrap interprets a decrease of an integer counter as a wrap past its greatest value, as
	// PCP_COUNTER_WRAP of the environment requests.
	CounterWrap bool

	delimiterGiven, timeFormatGiven, intervalGiven bool
	refused                                        error // a value that cannot be used
}

// What a report does when the names of metrics change.
const (
	NamesIgnore = iota
	NamesAbort
	NamesUpdate
)

// NewOptions returns the default options of a report, except for Delimiter and TimeFormat: their
// defaults depend on the output.
func NewOptions() Options {
	return Options{Header: true, UnitInfo: true, InstInfo: true, Globals: true, Interpol: true, Interval: time.Second,
		WidthForce: Unset, Precision: 3, PrecisionForce: Unset}
}
