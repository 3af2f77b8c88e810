package sample

import "fmt"

// A text is the help text of a metric or an instance domain.
type text struct{ oneLine, help string }

// texts are the texts of metrics by their names below the agent's, and of instance domains by their
// serials. We wrote them. The program examples/sample prefers the texts of an installed PCP.
var texts = makeTexts()

func makeTexts() map[string]text {
	all := map[string]text{}
	for _, some := range []map[string]text{eventTexts, dynamicNameTexts, churnTexts, controlTexts, inDomTexts, processTexts, constantTexts, binTexts, counterTexts, stepTexts, trendTexts, instanceTexts,
		failingTexts} {
		for name, t := range some {
			all[name] = t
		}
	}
	numberTexts(all)
	return all
}

var inDomTexts = map[string]text{
	"1": {"Three colours", `The instances red, green and blue, numbered 0, 1 and 2. They never change.`},
	"2": {"Nine bins", `The instances bin-100, bin-200 and so on up to bin-900. The number of each
is the one in its name.`},
	"3": {"Instances that come and go", `Some of the instances m-00 to m-49. m-00 is there always; the others come
in the order of their numbers and go by chance, at most once in as many
milliseconds as controller.mirage says.`},
	"4": {"A family", `Five names of persons, the last of which has three words.`},
	"5": {"Many instances with numbers for names", `The instances 0 to 499. They never change.`},
	"6": {"Instances that cannot be relied upon", `The instances d1 to d5, or those of them that chance has chosen; see
dodgey.control.`},
	"8": {"As many instances as a client wants", `The instances i-0, i-1 and so on; many.count says how many.`},
}

var processTexts = map[string]text{
	"control": {"Debug options of the agent, and its end", `A client may store a number. -1 makes the program end after its reply; an
agent that is a part of a collector goes on. The bits of other numbers are
those of PCP's debug options in their old form. 16777216 and 67108864, auth
and attr, let the agent log the attributes of its clients; others do nothing.`},
	"daemon_pid":   {"Process that the agent runs in", `The ID of the agent's own process, or of the collector that it is a part of.`},
	"seconds":      {"Seconds since the agent started", `Whole seconds.`},
	"milliseconds": {"Milliseconds since the agent started", `Has three digits after the point: it is as fine as a microsecond.`},
	"load":         {"Load of an imaginary machine", `It is 42, and stays so.`},
	"sysinfo": {"What sysinfo(2) says, as a block of bytes", `The structure that the system call fills, in the machine's own order of
bytes and as long as it is there. Where there is no such call, the metric
has no value.`},
	"datasize": {"Kilobytes of memory that the agent has got since it started", `What the run time of the program has from the system, less what it had at
first.`},
	"pdu": {"PDUs received and sent", `The sum of recv_pdu and xmit_pdu. Storing any number makes it 0, and those
two as well.`},
	"recv_pdu": {"PDUs received", `A request counts before it is served. Storing any number makes it 0.`},
	"xmit_pdu": {"PDUs sent", `A reply counts before it is made, so that a fetch sees its own. Storing any
number makes it 0.`},
}

var constantTexts = map[string]text{
	"write_me":           {"A rate that clients can set", `It is 2 until a client stores another.`},
	"string.null":        {"The empty string", `Has no character before the one that ends it.`},
	"string.hullo":       {"A greeting", `Always the same one, of 12 characters.`},
	"string.write_me":    {"A string that clients can set", `It is "13" until a client stores another.`},
	"aggregate.null":     {"No bytes at all", `A value of length 0.`},
	"aggregate.hullo":    {"A greeting in bytes", `The bytes of string.hullo without one that ends them.`},
	"aggregate.write_me": {"Bytes that clients can set", `The bytes of "13" until a client stores others.`},
	"ulong.count.base":   {"42 million, counted one by one", `The scale of count is 1.`},
	"ulong.count.deca":   {"42 million, counted in tens", `The scale of count is 10, so that the value is 4200000.`},
	"ulong.count.hecto":  {"42 million, counted in hundreds", `The scale of count is 100, so that the value is 420000.`},
	"ulong.count.kilo":   {"42 million, counted in thousands", `The scale of count is 1000, so that the value is 42000.`},
	"ulong.count.mega":   {"42 million, counted in millions", `The scale of count is 1000000, so that the value is 42.`},
	"bigid":              {"A metric with the greatest item there is", `Its item is 1023; its value, 4194303, has all of 22 bits set.`},
}

// numberTexts adds the texts of the metrics that exist once for each numeric type.
func numberTexts(all map[string]text) {
	for group, typ := range map[string]string{
		"long": "a signed 32-bit integer", "ulong": "an unsigned 32-bit integer", "longlong": "a signed 64-bit integer",
		"ulonglong": "an unsigned 64-bit integer", "float": "a 32-bit number with a fraction", "double": "a 64-bit number with a fraction",
	} {
		for name, n := range map[string]string{"one": "1", "ten": "10", "hundred": "100", "million": "1000000"} {
			all[group+"."+name] = text{n + " as " + typ, "Never changes."}
		}
		all[group+".write_me"] = text{"What clients set to " + typ, "It is 13 until a client stores another number."}
		more := ""
		if group == "ulonglong" {
			more = "\nAdded to each are the seconds since the agent started, so that the numbers\ngrow."
		}
		all[group+".bin"] = text{"The bins, each as " + typ, "The numbers of the metric bin." + more}
		all[group+".bin_ctr"] = text{"The bins as counters in Kbyte, each as " + typ, "The numbers of the metric bin." + more}
	}
	for group, sem := range map[string]string{"ctr": "A counter", "instant": "An instantaneous value", "discrete": "A discrete value"} {
		for name, typ := range map[string]string{"m_32": "32-bit integer", "m_64": "64-bit integer", "m_float": "float", "m_double": "double"} {
			all["negative."+group+"."+name] = text{
				fmt.Sprintf("%s below zero, of type %s", sem, typ),
				fmt.Sprintf(`Each fetch adds 1 to a number that was -10000 when the agent started. The
three metrics called %s show the same number, which a client may set through
any of them.`, name)}
		}
	}
}

var binTexts = map[string]text{
	"bin": {"A number in each of nine bins", `Each bin has the number of its instance, until a client stores another.
The metrics bucket, part_bin, bogus_bin, those called bin and bin_ctr below
the types, and scramble.bin show the same numbers. Storing an instance that
does not exist is an error, and what came before it is stored.`},
	"bucket": {"The bins under another PMID", `The numbers of the metric bin. They are stored there.`},
	"part_bin": {"Every other bin", `The numbers of the metric bin for the instances 100, 300, 500, 700 and
900. The others have no value.`},
	"bogus_bin": {"Bins of which some do not exist", `The numbers of the metric bin. Those of the instances 200, 400, 600 and 800
are given to the instances 250, 450, 650 and 850, which the instance domain
does not have, and are greater by 50.`},
	"string.bin": {"The bins as strings", `The numbers of the metric bin, each as three characters.`},
}

var counterTexts = map[string]text{
	"wrap.long":           {"A signed 32-bit counter that wraps", `Each fetch adds 1073741822, half of the greatest number less 1.`},
	"wrap.ulong":          {"An unsigned 32-bit counter that wraps", `Each fetch adds 2147483646, half of the greatest number less 1.`},
	"wrap.longlong":       {"A signed 64-bit counter that wraps", `Each fetch adds 4611686018427387902, half of the greatest number less 1.`},
	"wrap.ulonglong":      {"An unsigned 64-bit counter that wraps", `Each fetch adds 9223372036854775806, half of the greatest number less 1.`},
	"slow_wrap.long":      {"A signed 32-bit counter that wraps after some fetches", `Each fetch adds 214748363.`},
	"slow_wrap.ulong":     {"An unsigned 32-bit counter that wraps after some fetches", `Each fetch adds 214748363.`},
	"slow_wrap.longlong":  {"A signed 64-bit counter that wraps after some fetches", `Each fetch adds 922337203685477579.`},
	"slow_wrap.ulonglong": {"An unsigned 64-bit counter that wraps after some fetches", `Each fetch adds 922337203685477579.`},
	"rapid":               {"A counter that grows fast", `Each fetch adds 800 million, so that it wraps with every fifth or sixth.`},
	"const_rate.value": {"A counter with a rate that clients choose", `It starts at 10485760 and grows in each second by const_rate.gradient. A
client may set it too.`},
	"const_rate.gradient": {"By how much const_rate.value grows in a second", `It is 0 until a client stores another number.`},
}

var stepTexts = map[string]text{
	"step": {"A value that grows each half minute", `A base, 20 at first, times the number of half minutes since the agent
started, with the one that has begun. Storing a number sets the base.`},
	"step_counter":                {"A counter that grows each half minute", `The value of step.`},
	"scale_step.bytes_up":         {"Bytes in a second that double", scaleHelp + "\nBeyond 2 to the power of 40 follows 1."},
	"scale_step.bytes_down":       {"Bytes that get fewer by half", scaleHelp + "\nBelow 1 follows 2 to the power of 40."},
	"scale_step.count_up":         {"A count in a second that grows tenfold", scaleHelp + "\nBeyond 10 to the power of 12 follows 1."},
	"scale_step.count_down":       {"A count that shrinks to a tenth", scaleHelp + "\nBelow 1 follows 10 to the power of 12."},
	"scale_step.time_up_secs":     {"Seconds that grow tenfold", scaleHelp + "\nAfter more than a day follows 1."},
	"scale_step.time_up_nanosecs": {"Nanoseconds that grow tenfold", scaleHelp + "\nAfter more than a day follows 1."},
	"scale_step.none_up":          {"A number without units that grows tenfold", scaleHelp + "\nBeyond 10 million follows 1."},
	"updown.obs": {"A value that goes up and down in steps", `After updown.control.repeat fetches it goes on by updown.control.step. At
updown.control.min and updown.control.max it turns round.`},
	"updown.control.repeat": {"Fetches with the same updown.obs", `5 until a client stores another number, which has to be 0 or more. It
counts from the next change on.`},
	"updown.control.min":  {"Where updown.obs turns to go up", `0 until a client stores another number.`},
	"updown.control.max":  {"Where updown.obs turns to go down", `200 until a client stores another number.`},
	"updown.control.step": {"By how much updown.obs changes", `10 until a client stores another number, which has to be 0 or more.`},
}

const scaleHelp = `Starts with 1, and changes after each five fetches, for tools that choose a
scale.`

var trendTexts = map[string]text{
	"lights":    {"A traffic light", `One of "red", "yellow" and "green", each for some fetches.`},
	"magnitude": {"A power of two", `One of 2, 4, 8, 16, 32 and 64, each for some fetches.`},
	"drift": {"A random walk", `Goes up or down by less than 50 with each fetch, most often the way it has
gone before, and never below 0. A client may set it.`},
	"byte_ctr":          {"Bytes by chance, counted", `Each fetch adds 0 to 1023. kbyte_ctr shows the same number.`},
	"kbyte_ctr":         {"Kilobytes by chance, counted", `Each fetch adds 0 to 1023. byte_ctr shows the same number.`},
	"byte_rate":         {"Bytes in a second, by chance", `From 0 to 1023.`},
	"kbyte_rate":        {"Kilobytes in a second, by chance", `From 0 to 1023.`},
	"byte_rate_perhour": {"Bytes in an hour, by chance", `From 0 to 1023.`},
}

var instanceTexts = map[string]text{
	"colour": {"A saw-tooth for each colour", `100 for red, 200 for green or 300 for blue, and a number from 0 to 99 that
grows by 1 with each value of this metric, mirage and mirage_longlong.
Storing a number sets it, whatever the instances are.`},
	"darkness": {"No values of three colours", `Has the instance domain of colour, but no value, ever.`},
	"mirage": {"Saw-teeth of instances that come and go", `100 times one more than the number of the instance, less the number that
colour grows by. Storing a number sets that.`},
	"mirage_longlong": {"Greater saw-teeth of instances that come and go", `The values of mirage times a million. Storing a number sets what colour
grows by.`},
	"controller.mirage": {"Milliseconds between changes of the instances of mirage", `10000 until a client stores another number.`},
	"needprofile": {"Values for clients that name instances", `Fails unless the client's profile lists the instances that it wants, as
those of processes did in the past.`},
	"hordes.one": {"The number of each of 500 instances", `From 0 to 499.`},
	"hordes.two": {"The number of each of 500 instances, backwards", `From 499 to 0.`},
	"many.count": {"How many instances many.int has", `5 until a client stores another number. Less than 0 is taken for 0, and
more than 999999 for that.`},
	"many.int": {"The number of each of many.count instances", `From 0 on.`},
	"dodgey.control": {"What happens to dodgey.value", `A number from 1 to 5 is that of its instances, which have a value each. 0
is none, and less than 0 an error that dodgey.value fails with.

Above 5, chance decides after 1 to so many fetches: with a probability of
0.1 for an error, or else for some of the instances.`},
	"dodgey.value": {"Values of instances that cannot be relied upon", `From 0 to 100, by chance. See dodgey.control.`},
}

var failingTexts = map[string]text{
	"noinst": {"No value, ever", `Is known, but has nothing to show.`},
	"bad.nosupport": {"Not supported", `Its descriptor says that the type is not supported, and a fetch that the
application is of another version.`},
	"bad.novalues":    {"No value, ever", `Is known, but has nothing to show.`},
	"bad.fetch.again": {"Fails for the moment, for ever", `A fetch says that one should try again.`},
	"error_code": {"With which error error_check fails", `A client may store the number of an error, which is below 0. 0 or more
means none.`},
	"error_check": {"Fails with an error that a client has chosen", `If error_code is below 0, requests for the descriptor of this metric fail
with that error, and so do fetches of it, with all other metrics in them.
Else its value is 0.`},
}
