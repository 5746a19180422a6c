package rule

import (
	"reflect"
	"strings"
	"sync"

	"fettle/engine/rule/cel"
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
	form reflect.Type // of the value
	read func(*reading, *Fact) (any, error)
}

// reads makes a kind of the function that reads it.
func reads[T any](arg argument, opts map[string]option, read func(*reading, *Fact) (T, error)) *kind {
	return &kind{arg, opts, reflect.TypeFor[T](), func(r *reading, f *Fact) (any, error) { return read(r, f) }}
}

// kinds are all there are, made at first use.
var kinds func() map[string]*kind

func init() { kinds = sync.OnceValue(makeKinds) } // not in its declaration: some kinds read others

func makeKinds() map[string]*kind {
	fsOpts := map[string]option{"type": texts, "mount": texts, "device": texts}
	return map[string]*kind{
		"file": reads(onePath, nil, readFile),
		"keyvalue": reads(
			somePaths,
			map[string]option{"dropins": texts, "separator": text1, "comment": text1, "fold": flag},
			readKeyValue,
		),
		"ini":      reads(somePaths, map[string]option{"dropins": texts}, readINI),
		"regex":    reads(aRegex, map[string]option{"in": paths, "ignore": regex1, "scripts": flag}, readRegex),
		"table":    reads(onePath, map[string]option{"header": flag, "columns": texts, "skip": number, "separator": regex1}, readTable),
		"glob":     reads(patterns, nil, readGlob),
		"dir":      reads(onePath, nil, readDir),
		"stat":     reads(onePath, map[string]option{"follow": flag}, readStat),
		"stats":    reads(patterns, map[string]option{"follow": flag}, readStats),
		"lock":     reads(onePath, nil, readLock),
		"link":     reads(onePath, nil, readLink),
		"package":  reads(names, nil, readPackage),
		"packages": reads(names, nil, readPackages),
		"kernel":   reads(running, nil, readKernel),
		"fixed-version": reads(
			optsOnly,
			map[string]option{"package": texts, "kernel": text1, "introduced": text1, "upstream": text1},
			readFixed,
		),
		"unit":         reads(names, nil, readUnit),
		"sysctl":       reads(oneName, nil, readSysctl),
		"sysctl-conf":  reads(oneName, nil, readSysctlConf),
		"process":      reads(names, map[string]option{"containers": flag}, readProcess),
		"filesystem":   reads(onePath, nil, readFilesystem),
		"filesystems":  reads(allOf, fsOpts, readFilesystems),
		"arrays":       reads(allOf, nil, readArrays),
		"fstab":        reads(allOf, nil, readFstab),
		"links":        reads(allOf, map[string]option{"name": texts, "kind": texts}, readLinks),
		"cmdline":      reads(running, nil, readCmdline),
		"module":       reads(oneName, nil, readModule),
		"modules":      reads(allOf, nil, readModules),
		"memory":       reads(allOf, nil, readMemory),
		"certificates": reads(patterns, nil, readCertificates),
		"log":          reads(aRegex, map[string]option{"in": paths, "optional": flag}, readLog),
		"users":        reads(allOf, nil, readUsers),
		"command":      reads(words, nil, readCommand),
		"upgrade":      reads(names, nil, readUpgrade),
		"statements":   reads(onePath, map[string]option{"form": text1, "named": texts}, readStatements),
		"sshd":         reads(names, nil, readSshd),
		"conffiles":    reads(names, nil, readConffiles),
		"json":         reads(patterns, nil, readJSON),
		"apt-sources":  reads(allOf, nil, readSources),
		"os":           reads(running, nil, readOS), // always there; nobody writes it
	}
}

// celType is what expressions see of the fact.
func (f *Fact) celType() cel.Type {
	if f.Kind == "file" && volatilePath(f.arg()) {
		return cel.TypeFor[*procfFact]()
	}
	return cel.TypeOf(kinds()[f.Kind].form)
}

// volatilePath tells whether what a file says changes by itself.
func volatilePath(p string) bool {
	for _, stable := range []string{"/proc/sys/", "/proc/cmdline", "/proc/version", "/proc/filesystems", "/proc/cpuinfo", "/proc/swaps",
		"/proc/mdstat", "/proc/mounts"} {
		if strings.HasPrefix(p, stable) && p != "/proc/sys/fs/file-nr" && p != "/proc/sys/fs/inode-nr" && !strings.Contains(p, "/random/") &&
			!strings.HasSuffix(p, "_count") {
			return false
		}
	}
	return strings.HasPrefix(p, "/proc/")
}
