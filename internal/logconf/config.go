// Package logconf parses the configurations of loggers, in the language of pmlogger(1) with its
// preprocessor. Package archive/logger describes the language.
package logconf

import (
	"fmt"
	"io"
	"os"
	"time"
)

// A Config is the contents of a configuration file.
type Config struct {
	Requests []Request // in the order of the file, in which they take effect
	Rules    []Rule    // of the access section
}

// A Request asks for some metrics to be recorded, or not.
type Request struct {
	Control Control
	State   State
	// Interval is the time between two records of a metric with State On; 0 for once.
	Interval time.Duration
	Metrics  []Metric
}

// Control is the priority of a request. An advisory request changes nothing for metrics that have a
// mandatory one.
type Control uint8

// The values of Control.
const (
	Advisory Control = iota
	Mandatory
)

// String is the word of the configuration.
func (c Control) String() string {
	if c == Mandatory {
		return "mandatory"
	}
	return "advisory"
}

// State is what a request asks for.
type State uint8

// The values of State. Maybe leaves the choice to advisory requests, and is only of mandatory ones.
const (
	Off State = iota
	Maybe
	On
)

// String is the word of the configuration.
func (s State) String() string { return [...]string{"off", "maybe", "on"}[s] }

// A Metric is a name in a request: a metric, or all metrics below it.
type Metric struct {
	Name string
	// Instances are the instances to record. An empty list means all that exist at each time.
	Instances []Instance
	Place
}

// An Instance is one of a metric's instances, by its name, or if that is empty by its number.
type Instance struct {
	Name string
	ID   int32
}

// String is the name or the number.
func (i Instance) String() string {
	if i.Name == "" {
		return fmt.Sprint(i.ID)
	}
	return i.Name
}

// A Place is a line of a file.
type Place struct {
	File string
	Line int
}

// A Rule of the access section says what a host may or may not do.
type Rule struct {
	Allow bool
	// Hosts are names and addresses, with * at the end for all that begin so; * alone stands for
	// everybody.
	Hosts []string
	Ops   Ops
	Place
}

// Ops are kinds of requests that are made of a logger while it runs.
type Ops uint8

// The kinds of requests.
const (
	OpAdvisory  Ops = 1 << iota // to change what is recorded, as advisory
	OpMandatory                 // to change it as mandatory, and for a new volume
	OpEnquire                   // to ask for the state

	OpAll = OpAdvisory | OpMandatory | OpEnquire
)

// A SyntaxError is an error in a configuration.
type SyntaxError struct {
	Place
	Column int      // of the word, in bytes from 1; 0 at the end of the file and if it is not known
	Found  string   // the word, empty at the end of the file and if it is not known
	Want   []string // the words that the language allows there; empty if it allows others, such as names
	Msg    string   // in the words of pmlogger(1)
}

// Error returns the place and the text of the error.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg) }

// MaxInterval is the longest interval, which the protocol of pmlc(1) has room for.
const MaxInterval = (1<<28 - 1) * time.Millisecond

// Options say how Parse reads a configuration.
type Options struct {
	// Open opens an included file, by its name with slashes. Nil opens files of the file system.
	Open func(name string) (io.ReadCloser, error)
	// Default is the interval of "default", in whole milliseconds; 0 means once.
	Default time.Duration
}

// Parse reads a configuration. name is its name in errors. With an error, the Config has the
// requests before it. The error is a *SyntaxError or a read error.
func (o Options) Parse(name string, r io.Reader) (*Config, error) {
	if o.Open == nil {
		o.Open = OpenFile
	}
	p := parser{lexer: newLexer(o, name, r), every: o.Default}
	defer p.lexer.close()
	err := p.parse()
	return &p.config, err
}

// OpenFile opens a file that is no device or FIFO, which might never end or begin.
func OpenFile(name string) (io.ReadCloser, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrInvalid}
	}
	return os.Open(name)
}
