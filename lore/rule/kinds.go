package rule

import (
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
)

// argument is what a kind of fact takes.
type argument int

const (
	onePath   argument = iota
	somePaths          // a path or several
	patterns           // paths with * ? [
	names              // names, one or several
	oneName
	words // a command's words
	aRegex
	allOf    // "all", or a map of options
	running  // "running"
	optsOnly // a map of options
)

// option is the form of an option's value.
type option int

const (
	text1 option = iota
	texts
	flag
	number
	regex1
	regexes
	paths
)

// kind is one kind of fact.
type kind struct {
	arg  argument
	opts map[string]option
	form string // of the value: an object type; "[x]" is a list of them, "strings" a list of text
	read func(*reading, *Fact) (any, error)
}

// kinds are all there are, made at first use.
var kinds func() map[string]*kind

func init() { kinds = sync.OnceValue(makeKinds) } // not in its declaration: some kinds read others

func makeKinds() map[string]*kind {
	fsOpts := map[string]option{"type": texts, "mount": texts, "device": texts}
	return map[string]*kind{
		"file":          {onePath, nil, "file", readFile},
		"keyvalue":      {somePaths, map[string]option{"dropins": texts, "separator": text1, "comment": text1, "fold": flag}, "kv", readKeyValue},
		"ini":           {somePaths, map[string]option{"dropins": texts}, "ini", readINI},
		"regex":         {aRegex, map[string]option{"in": paths, "ignore": regex1}, "regex", readRegex},
		"table":         {onePath, map[string]option{"header": flag, "columns": texts, "skip": number, "separator": regex1}, "table", readTable},
		"glob":          {patterns, nil, "strings", readGlob},
		"dir":           {onePath, nil, "dir", readDir},
		"stat":          {onePath, map[string]option{"follow": flag}, "stat", readStat},
		"link":          {onePath, nil, "link", readLink},
		"package":       {names, nil, "package", readPackage},
		"packages":      {names, nil, "[package]", readPackages},
		"kernel":        {running, nil, "kernel", readKernel},
		"fixed-version": {optsOnly, map[string]option{"package": texts, "kernel": text1, "introduced": text1, "upstream": text1}, "fixed", readFixed},
		"unit":          {names, nil, "unit", readUnit},
		"sysctl":        {oneName, nil, "sysctl", readSysctl},
		"sysctl-conf":   {oneName, nil, "conf", readSysctlConf},
		"process":       {names, nil, "[process]", readProcess},
		"filesystem":    {onePath, nil, "fs", readFilesystem},
		"filesystems":   {allOf, fsOpts, "[fs]", readFilesystems},
		"fstab":         {allOf, nil, "[fstab]", readFstab},
		"links":         {allOf, map[string]option{"name": texts, "kind": texts}, "[netlink]", readLinks},
		"cmdline":       {running, nil, "cmdline", readCmdline},
		"module":        {oneName, nil, "module", readModule},
		"modules":       {allOf, nil, "strings", readModules},
		"memory":        {allOf, nil, "memory", readMemory},
		"certificates":  {patterns, nil, "[cert]", readCertificates},
		"log":           {aRegex, map[string]option{"in": paths, "optional": flag}, "log", readLog},
		"users":         {allOf, nil, "[user]", readUsers},
		"command":       {words, nil, "command", readCommand},
		"os":            {running, nil, "os", readOS}, // always there; nobody writes it
	}
}

// celType is what expressions see of the fact.
func (f *Fact) celType() *cel.Type {
	form := kinds()[f.Kind].form
	if form == "file" && volatilePath(f.arg()) {
		form = "procf"
	}
	switch {
	case form == "strings":
		return cel.ListType(cel.StringType)
	case form[0] == '[':
		return cel.ListType(objectOf(form[1 : len(form)-1]).cel)
	}
	return objectOf(form).cel
}

// volatilePath tells whether what a file says changes by itself.
func volatilePath(p string) bool {
	for _, stable := range []string{"/proc/sys/", "/proc/cmdline", "/proc/version", "/proc/filesystems", "/proc/cpuinfo", "/proc/swaps", "/proc/mdstat", "/proc/mounts"} {
		if strings.HasPrefix(p, stable) && p != "/proc/sys/fs/file-nr" && p != "/proc/sys/fs/inode-nr" && !strings.Contains(p, "/random/") && !strings.HasSuffix(p, "_count") {
			return false
		}
	}
	return strings.HasPrefix(p, "/proc/")
}
