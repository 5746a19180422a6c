package rule

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
)

// objectType describes one form of fact to CEL: its fields and their types.
type objectType struct {
	name   string
	cel    *cel.Type
	fields map[string]field
}

type field struct {
	typ *cel.Type
	// volatile: the value changes by itself, and belongs in no summary.
	volatile bool
}

// forms are all object types: name, then fields as "name:type", where "!"
// marks a volatile one and [x] is a list of x.
var forms = map[string]string{
	"host":    "name:string kind:string running:bool machine:string root:bool",
	"os":      "exists:bool id:string version_id:string like:[string] codename:string name:string pretty:string",
	"file":    "exists:bool path:string text:string value:string lines:[string] int:int",
	"procf":   "exists:bool path:string text:string! value:string! lines:[string]! int:int!",
	"kv":      "exists:bool values:{string} files:[string]",
	"ini":     "exists:bool sections:{{string}} files:[string]",
	"regex":   "exists:bool found:bool first:match matches:[match] count:int!",
	"match":   "path:string line:int! text:string groups:{string}",
	"table":   "exists:bool rows:[{string}]!",
	"dir":     "exists:bool names:[string] count:int!",
	"stat":    "exists:bool path:string type:string mode:string uid:int gid:int size:int! nlink:int mtime:time! age:duration! world_writable:bool group_writable:bool",
	"link":    "exists:bool target:string resolved:string dangling:bool",
	"package": "installed:bool name:string version:string status:string manager:string",
	"kernel":  "release:string upstream:string package:string distribution:string",
	"fixed":   "installed:bool name:string version:string bad:bool fixed_in:string",
	"unit":    "exists:bool systemd:bool name:string load:string active:string sub:string file_state:string is_active:bool is_enabled:bool is_masked:bool is_failed:bool",
	"sysctl":  "exists:bool value:string int:int",
	"conf":    "set:bool value:string where:string losers:[string]",
	"process": "comm:string pid:int! uid:int unit:string",
	"fs": "exists:bool device:string mount:string type:string options:[string] network:bool size:int free:int! avail:int! files:int! ffree:int! " +
		"used_percent:double! inodes_used_percent:double!",
	"fstab":   "device:string mount:string type:string options:[string] dump:int pass:int line:int!",
	"netlink": "name:string kind:string mtu:int master:string parent:string up:bool operstate:string flags:[string] mac:string addresses:[string]",
	"cmdline": "text:string args:[string] values:{string}",
	"module":  "loaded:bool parameters:{string}",
	"memory":  "total:int available:int! swap_total:int swap_free:int! fields:{int}!",
	"cert": "path:string number:int subject:string issuer:string names:[string] not_before:time not_after:time left:duration! expired:bool is_ca:bool " +
		"self_signed:bool signature:string",
	"log":     "looked:bool found:bool count:int! first:string! last:string!",
	"user":    "name:string uid:int gid:int home:string shell:string",
	"command": "exit:int stdout:string! stderr:string! lines:[string]!",
}

// objects are forms, parsed at first use: most runs of fettle need none.
var objects = sync.OnceValue(func() map[string]*objectType {
	all := make(map[string]*objectType, len(forms))
	for name := range forms {
		all[name] = &objectType{name: name, cel: cel.ObjectType("fact." + name)}
	}
	for name, text := range forms {
		fs := map[string]field{}
		for _, f := range strings.Fields(text) {
			n, t, _ := strings.Cut(f, ":")
			t, volatile := strings.CutSuffix(t, "!")
			fs[n] = field{celType(all, t), volatile}
		}
		all[name].fields = fs
	}
	return all
})

func celType(all map[string]*objectType, t string) *cel.Type {
	switch t {
	case "bool":
		return cel.BoolType
	case "int":
		return cel.IntType
	case "double":
		return cel.DoubleType
	case "string":
		return cel.StringType
	case "time":
		return cel.TimestampType
	case "duration":
		return cel.DurationType
	}
	switch t[0] {
	case '[':
		return cel.ListType(celType(all, t[1:len(t)-1]))
	case '{':
		return cel.MapType(cel.StringType, celType(all, t[1:len(t)-1]))
	}
	return all[t].cel // a name that is missing here is a bug that every test meets
}

func objectOf(name string) *objectType {
	o := objects()[name]
	if o == nil {
		panic(fmt.Sprintf("rule: no object type %q", name))
	}
	return o
}

// provider adds the object types to CEL's own.
type provider struct{ types.Provider }

func (p provider) find(structType string) *objectType {
	name, ok := strings.CutPrefix(structType, "fact.")
	if !ok {
		return nil
	}
	return objects()[name]
}

func (p provider) FindStructType(name string) (*types.Type, bool) {
	if o := p.find(name); o != nil {
		return types.NewTypeTypeWithParam(o.cel), true
	}
	return p.Provider.FindStructType(name)
}

func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if o := p.find(name); o != nil {
		return slices.Sorted(maps.Keys(o.fields)), true
	}
	return p.Provider.FindStructFieldNames(name)
}

func (p provider) FindStructFieldType(name, f string) (*types.FieldType, bool) {
	if o := p.find(name); o != nil {
		ft, ok := o.fields[f]
		return &types.FieldType{Type: ft.typ}, ok
	}
	return p.Provider.FindStructFieldType(name, f)
}
