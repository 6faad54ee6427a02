package simulate

// Covered names the invariants that check a rule of docs/explanation/protocol.md.
type Covered struct {
	Rule string   // "P1" to "P49"
	By   []string // invariants that hold runs to it, by their names
	Why  string   // argument for a rule that no invariant can check
}

// Rules lists every rule of the protocol, with the invariants that hold runs to it.
func Rules() []Covered { return rules }

var rules = []Covered{
	{"P1", []string{"14", "P18"}, ""},
	{"P2", []string{"P2", "3", "P3"}, ""},
	{"P3", []string{"P3", "P32"}, ""},
	{"P4", []string{"P15", "P12"}, ""}, // the model compares the causes of all claims
	{"P5", []string{"P5", "P17", "P18"}, ""},
	{"P6", []string{"P6", "P12", "P25"}, ""},
	{"P7", []string{"10", "9", "P15"}, ""},
	{"P8", []string{"15", "P8"}, ""},
	{"P9", []string{"P9", "21"}, ""},
	{"P9a", []string{"P9a", "P16"}, ""},
	{"P10", []string{"P10"}, ""},
	{"P11", []string{"P11", "5"}, ""},
	{"P12", []string{"P12", "P13"}, ""},
	{"P12a", []string{"P12a", "P13"}, ""},
	{"P13", []string{"P13"}, ""},
	{"P14", []string{"P14", "P26"}, ""},
	{"P15", []string{"P15", "4"}, ""},
	{"P16", []string{"P16", "17", "13"}, ""},
	{"P17", []string{"P17", "6"}, ""},
	{"P18", []string{"P18", "3"}, ""},
	{"P19", []string{"P15", "P16", "P19"}, ""}, // the checks of replies and overdue steps include the policy
	{"P20", []string{"P20", "P15", "9"}, ""},
	{"P21", []string{"P21", "11"}, ""},
	{"P22", []string{"P22"}, ""},
	{"P22a", []string{"P22a"}, ""},
	{"P23", []string{"P23", "20"}, ""},
	{"P23a", []string{"P23a"}, ""},
	{"P24", []string{"P24", "10"}, ""},
	{"P25", []string{"P25"}, ""},
	{"P26", []string{"P26", "2"}, ""},
	{"P27", []string{"P27", "5"}, ""},
	{"P28", []string{"P28", "19"}, ""},
	{"P29", nil, "no workflow can name a fallback agent: validation refuses the field"},
	{"P31", []string{"P31"}, ""},
	{"P32", []string{"P32", "P16"}, ""},
	{"P33", []string{"P33", "P9", "P18"}, ""},
	{"P34", []string{"P34", "P9a"}, ""},
	{"P35", []string{"P35", "P36"}, ""},
	{"P38", []string{"P38"}, ""},
	{"P36", []string{"P36", "P5"}, ""},
	{"P37", []string{"P37", "P33"}, ""},
	{"P39", []string{"P12"}, ""},
	// Only invariants cover it: no model is compared with the tasks of a run with children.
	{"P40", []string{"P40", "5"}, ""},
	{"P41", []string{"P41", "8"}, ""},
	{"P42", []string{"P42", "7", "P15", "P16"}, ""},
	{"P43", []string{"P43", "P15"}, ""},
	{"P44", []string{"P44", "P15"}, ""},
	{"P45", []string{"P45", "P15"}, ""},
	{"P46", nil,
		"the order in which a queue hands out its messages is drawn at random, as SQS gives none; " +
			"dev/memory and dev/embedded test it"},
	{"P48", []string{"P48", "6", "18"}, ""},
	{"P49", []string{"P49", "14"}, ""},
	{"P50", []string{"P50", "P15"}, ""},
	{"P51", []string{"P51", "P5", "P12"}, ""},
	{"P52", []string{"P52", "P5", "P12"}, ""},
}
