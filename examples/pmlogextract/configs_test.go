package main

// configs are the configurations of -c that testdata/lines has.
var configs = map[string]string{
	"m1":  "sample.bin[\"bin-300\" 100 \"nope\"] nosuch.metric\n",
	"m2":  "sample\n",
	"m3":  "sample.bin[100 \"bin-900\" 12] sample.seconds foo\n",
	"m4":  "network.interface.in.bytes[\"lo\" 12 \"none\"] disk.dev kernel.all.load[1 \"5 minute\" 15]\npmcd\n",
	"m5":  "hinv disk.dev\n",
	"m6":  "sampledso.event sample.bin sample.many[i-1 i-5] pmcd\n",
	"m7":  "proc.psinfo.cmd proc.nprocs kernel.uname\n",
	"m8":  "sample.colour[red] sampledso.colour\n",
	"m9":  "sample.string sample.aggregate sample.double.bin[100]\n",
	"m10": "sample.bin{",
	"m11": "nosuch\nsample.bin $",
	"m12": "sample.bin,\n,x",
	"m13": "sample.bin[\"nope\"]\n",
	"m14": "",
	"m15": "proc\n",
	"m16": "sample\n",
	"m17": "filesys kernel.all.load\n",
	"m18": "sample[100]\n",
	"m19": "nosuch\n\nsample.colour\nfoo.bar\n",
	"m20": "sample.bin[\"bin\n-300\"]",
	"m21": "sample.bin[100 100 \"bin-900\"] sample.bin[200]",
	"m22": "sample.bin[99999999999]",
	"m23": "sample.bin # x\n[100]\n100",
}

// exceptions maps archives whose copies differ on purpose to the reason.
var exceptions = map[string]string{
	"archive-20150417.131733": "PCP does not find the last complete record",
	"badmeta-1":               "PCP's tool ends at a value without a descriptor; later releases leave the value out",
	"badmeta-6":               "PCP's tool refuses an archive of version 2 with records of version 3, which others can read",
	"badmeta-7":               "PCP's tool loses the label sets of an archive of version 3 with records of version 2",
}

// unsorted are archives of version 2 whose copies in version 3 differ on purpose. Their instances
// are not ascending. PCP's tool then writes wrong differences between them, which crash pmdumplog.
var unsorted = map[string]bool{
	"20150105.17.57-00":       true,
	"20180102":                true,
	"20190628.04.03":          true,
	"20190628.06.31":          true,
	"20201109":                true,
	"all-irix-6.5.25":         true,
	"bigace_v2":               true,
	"mirage-3":                true,
	"pcp-atop-boot":           true,
	"pcp-atop-threads":        true,
	"pcpcmd":                  true,
	"pyapi":                   true,
	"archive-20141125-000009": true,
}
