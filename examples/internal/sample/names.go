package sample

import (
	"strconv"
	"strings"
	"sync"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// nameList are the names below the agent's, with their items. "*" is a dynamic root. Some items
// have several names. The order is that of a traversal of PCP's agent.
const nameList = `
control 0
daemon_pid 1
seconds 2
milliseconds 3
load 4
colour 5
darkness 92
bin 6
bucket 48
part_bin 50
bogus_bin 51
drift 7
step 8
step_counter 63
mirage 37
mirage_longlong 38
write_me 36
lights 46
magnitude 47
sysinfo 39
pdu 40
recv_pdu 41
xmit_pdu 42
noinst 9
needprofile 49
long.one 10
long.ten 11
long.hundred 12
long.million 13
long.write_me 14
long.bin 103
long.bin_ctr 104
ulong.one 93
ulong.ten 94
ulong.hundred 95
ulong.million 96
ulong.write_me 97
ulong.bin 105
ulong.bin_ctr 106
ulong.count.base 115
ulong.count.deca 116
ulong.count.hecto 117
ulong.count.kilo 118
ulong.count.mega 119
longlong.one 20
longlong.ten 21
longlong.hundred 22
longlong.million 23
longlong.write_me 24
longlong.bin 109
longlong.bin_ctr 110
ulonglong.one 98
ulonglong.ten 99
ulonglong.hundred 100
ulonglong.million 101
ulonglong.write_me 102
ulonglong.bin 111
ulonglong.bin_ctr 112
float.one 15
float.ten 16
float.hundred 17
float.million 18
float.write_me 19
float.bin 107
float.bin_ctr 108
double.one 25
double.ten 26
double.hundred 27
double.million 28
double.write_me 29
double.bin 113
double.bin_ctr 114
string.null 30
string.hullo 31
string.write_me 32
string.bin 153
aggregate.null 33
aggregate.hullo 34
aggregate.write_me 35
hordes.one 52
hordes.two 53
bad.unknown 54
bad.nosupport 55
bad.novalues 138
bad.fetch.again 154
not_ready 56
wrap.long 57
wrap.ulong 58
wrap.longlong 59
wrap.ulonglong 60
slow_wrap.long 160
slow_wrap.ulong 161
slow_wrap.longlong 162
slow_wrap.ulonglong 163
dodgey.control 61
dodgey.value 62
dynamic.counter 76
dynamic.discrete 77
dynamic.instant 78
dynamic.meta.metric 86
dynamic.meta.pmdesc.type 87
dynamic.meta.pmdesc.indom 88
dynamic.meta.pmdesc.sem 89
dynamic.meta.pmdesc.units 90
rapid 64
scale_step.bytes_up 65
scale_step.bytes_down 66
scale_step.count_up 67
scale_step.count_down 68
scale_step.time_up_secs 69
scale_step.time_up_nanosecs 70
scale_step.none_up 71
const_rate.value 72
const_rate.gradient 73
error_code 74
error_check 75
bigid 1023
many.count 79
many.int 80
byte_ctr 81
byte_rate 82
kbyte_ctr 83
kbyte_rate 84
byte_rate_perhour 85
datasize 91
secret *
scramble.version 120
scramble.bin 121
percontext.control.ctx 122
percontext.control.active 123
percontext.control.start 124
percontext.control.end 125
percontext.pdu 43
percontext.recv_pdu 44
percontext.xmit_pdu 45
event.records 136
event.highres_records 139
event.no_indom_records 137
event.reset 126
event.reset_highres 140
event.type 127
event.param_32 128
event.param_u32 129
event.param_64 130
event.param_u64 131
event.param_float 132
event.param_double 133
event.param_string 134
event.param_aggregate 135
dupnames.two.seconds 2
dupnames.two.bin 6
dupnames.two.write_me 36
dupnames.two.lights 46
dupnames.two.float.ten 16
dupnames.two.double.ten 26
dupnames.three.bin 6
dupnames.three.write_me 36
dupnames.daemon_pid 1
dupnames.pid_daemon 1
dupnames.four.bin 6
dupnames.four.colour 5
dupnames.five.bin 6
dupnames.five.bucket 48
dupnames.five.part_bin 50
dupnames.five.long_bin 103
negative.ctr.m_32 141
negative.ctr.m_64 142
negative.ctr.m_float 143
negative.ctr.m_double 144
negative.instant.m_32 145
negative.instant.m_64 146
negative.instant.m_float 147
negative.instant.m_double 148
negative.discrete.m_32 149
negative.discrete.m_64 150
negative.discrete.m_float 151
negative.discrete.m_double 152
ghosts *
controller.mirage 155
proc.ordinal 156
proc.exec 157
proc.time 158
proc.reset 159
updown.obs 164
updown.control.repeat 165
updown.control.min 166
updown.control.max 167
updown.control.step 168
`

// names caches the name space.
type names struct {
	mu     sync.Mutex
	domain pdu.Domain
	tree   *pmns.Tree
}

// namespace returns the name space under a domain. The tables cannot provide it because some
// metrics have several names.
func (s *sample) namespace(d pdu.Domain) *pmns.Tree {
	n := &s.names
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.tree == nil || n.domain != d {
		var b pmns.Builder
		for line := range strings.Lines(nameList[1:]) {
			name, item, _ := strings.Cut(strings.TrimSpace(line), " ")
			id := pdu.DynamicRoot(d)
			if i, err := strconv.Atoi(item); err == nil {
				id = pdu.MakePMID(d, 0, i)
			}
			_ = b.Add(s.opts.Name+"."+name, id) // the list is right, as a test says
		}
		n.tree, n.domain = b.Tree(), d
	}
	return n.tree
}
