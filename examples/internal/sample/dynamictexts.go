package sample

// eventTexts are the texts of events.
var eventTexts = map[string]text{
	"10": {"Two kinds of event arrays", `The instances fungus, whose records follow a pattern, and bogus, whose
records tell how often it has been fetched.`},
	"event.records": {"Events in both kinds of arrays", `The instance fungus has four sets of records, one after the other with each
of its fetches: none; one without parameters; two; and five, among them one
that stands for missed events and one that starts what another ends. They
are a second apart, and the first is ten seconds old.
The instance bogus has one record that says which fetch it is, and two in
every third fetch.`},
	"event.highres_records": {"Events with times in nanoseconds", `The records of event.records, whose fetches are counted separately.`},
	"event.no_indom_records": {"Events of a metric without instances", `The records of the instance bogus of event.records, together with which
its fetches are counted.`},
	"event.reset": {"Set of event records that is next", `0 to 3. Storing a number makes it the next set of event.records, and the
next number in the records that have one. -1 is for a set with one record
that has an unknown parameter.`},
	"event.reset_highres": {"Set of event records with nanoseconds that is next", `What event.reset is, for event.highres_records.`},
	"event.type": {"Number of an event", `A parameter of events, which have it as an unsigned number. The metric
itself has no value.`},
	"event.param_32":        {"Parameter of events of type 32", onlyInEvents},
	"event.param_u32":       {"Parameter of events of type U32", onlyInEvents},
	"event.param_64":        {"Parameter of events of type 64", onlyInEvents},
	"event.param_u64":       {"Parameter of events of type U64", onlyInEvents},
	"event.param_float":     {"Parameter of events of type FLOAT", onlyInEvents},
	"event.param_double":    {"Parameter of events of type DOUBLE", onlyInEvents},
	"event.param_string":    {"Parameter of events of type STRING", onlyInEvents},
	"event.param_aggregate": {"Parameter of events of type AGGREGATE", onlyInEvents},
}

const onlyInEvents = "Values are in records of event.records and its neighbours alone."

// dynamicNameTexts are the texts of metrics below dynamic roots.
var dynamicNameTexts = map[string]text{
	"secret.bar":           {"A string below a dynamic root", `It is "foo".`},
	"secret.foo.one":       {"The number 1 below a dynamic root", belowRoot},
	"secret.foo.two":       {"The number 2 below a dynamic root", belowRoot},
	"secret.foo.bar.three": {"The number 3 below a dynamic root", belowRoot},
	"secret.foo.bar.four":  {"The number 4 below a dynamic root", belowRoot},

	"secret.foo.bar.grunt.five":                  {"The number 5 below a dynamic root", belowRoot},
	"secret.foo.bar.grunt.snort.six":             {"The number 6 below a dynamic root", belowRoot},
	"secret.foo.bar.grunt.snort.huff.puff.seven": {"The number 7 below a dynamic root", belowRoot},

	"11": {"Ghosts that a client makes visible", `As many of eight ghosts as ghosts.visible says, numbered from 1.`},
	"ghosts.visible": {"Number of ghosts that are visible", `Storing a number from 0 to 8 makes as many visible, a higher one all of
them. Below 0 the other metrics of ghosts have no names either.`},
	"ghosts.origin": {"Where a ghost is at home", `The name of a country or a continent.`},
	"ghosts.karma":  {"Length of the name of a ghost", `In letters.`},
	"ghosts.state": {"Whether a ghost walks", `0 or 1. The last ghost never walks. Of the others, each pair takes turns:
after every fetch of a metric of ghosts, after every second or third; one
walks four fetches and rests four. A store in ghosts.visible begins anew.`},
}

const belowRoot = "The agent says what is below the root when it is asked. The value does not change."

// churnTexts are the texts of instances that change in the same way each time.
var churnTexts = map[string]text{
	"12": {"Processes that somebody has made up", `Four that are always there and at most sixteen others. With each fetch,
one that is there ends with probability 0.075, and in each place that is
free one starts with the same probability. The numbers ascend up to 999.`},
	"proc.ordinal": {"Number of a made-up process", `The first is 1. It is the number of the instance, too.`},
	"proc.exec":    {"Program of a made-up process", `The last part of the path in the name of the instance.`},
	"proc.time":    {"Milliseconds since a made-up process has started", `That is, since the fetch in which it was seen first.`},
	"proc.reset": {"Beginning anew of the made-up processes", `Storing any number ends all of them. Those that come and go afterwards are
the same as after the start of the agent.`},
	"9": {"Nine bins in disorder", `The instances of bin, in an order that changes with each fetch of
scramble.bin. Each is missing from one fetch in three.`},
	"scramble.version": {"Number of the order that the bins have next", `The order depends on nothing else. Storing any number makes it 0, and all
bins are there in their order until the next fetch.`},
	"scramble.bin": {"Number of a bin", `The number in its name.`},
}

// controlTexts are the texts of metrics that clients change by a store or otherwise.
var controlTexts = map[string]text{
	"7": {"Instances of a file", `The file dynamic.indom in the directory of the agent has a number and a
name for each instance, both on one line. If it has a fault, or does not
exist, there are no instances.`},
	"dynamic.counter":  {"Fetches since the file of instances has changed", fetchesOfFile},
	"dynamic.discrete": {"Fetches since the file of instances has changed, as a discrete number", fetchesOfFile},
	"dynamic.instant":  {"Fetches since the file of instances has changed, as an instantaneous number", fetchesOfFile},
	"dynamic.meta.metric": {"A metric whose descriptor clients change", `It is 42 as a value of the type in dynamic.meta.pmdesc.type, up to 6, for
each instance of the domain in dynamic.meta.pmdesc.indom. A fetch fails if
there is no value of the type.`},
	"dynamic.meta.pmdesc.type":  {"Type of dynamic.meta.metric", partOfDesc},
	"dynamic.meta.pmdesc.indom": {"Instance domain of dynamic.meta.metric", partOfDesc},
	"dynamic.meta.pmdesc.sem":   {"Semantics of dynamic.meta.metric", partOfDesc},
	"dynamic.meta.pmdesc.units": {"Units of dynamic.meta.metric", partOfDesc + `
From the highest bits on, four bits each: the dimensions of space, time and
count, and their scales. The lowest eight bits are not used.`},

	"percontext.control.ctx":    {"One more than the highest number of a client", "Numbers of clients that have gone are given again."},
	"percontext.control.active": {"Clients that have made a request", "Only those that have not gone."},
	"percontext.control.start":  {"Clients that have come", "A client comes with its first request."},
	"percontext.control.end":    {"Clients that have gone", "Only those that had made a request."},
	"percontext.pdu":            {"PDUs received from and sent to the client", "The sum of percontext.recv_pdu and percontext.xmit_pdu."},
	"percontext.recv_pdu":       {"PDUs received from the client", "They begin anew when a client stores recv_pdu or pdu."},
	"percontext.xmit_pdu":       {"PDUs sent to the client", "They begin anew when a client stores xmit_pdu or pdu."},

	"not_ready": {"Seconds for which the agent is not ready", `Storing a number above 0 makes the agent unavailable for as many seconds
from its next request on.`},
}

const (
	fetchesOfFile = "Fetches of several of the three metrics at once count as one."
	partOfDesc    = "The number that the PDU of the descriptor has, which clients may change without a check."
)
