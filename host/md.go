package host

import "context"

// TableMD is a []MDMember: what is on every member of every running MD
// array. Read it with Host.MDMembers.
const TableMD Table = "md"

// MDMember is the raw superblock and bad blocks list of one member of a
// running array; package host/mdraid reads them.
type MDMember struct {
	Array  string `json:"array"`  // "md0"
	Device string `json:"device"` // kernel name, "sda1"
	Size   int64  `json:"size"`   // bytes
	// Superblock is what was found, from its magic on; empty where there is
	// none of version 1 (0.90, or metadata that md does not write itself).
	Superblock []byte `json:"superblock,omitempty"`
	// BadBlocks is the list that the superblock points to, up to its end mark;
	// empty where the superblock says that there never was an entry.
	BadBlocks []byte `json:"bad_blocks,omitempty"`
	// Denied: the device may not be read by this user. Failed says what else went wrong.
	Denied bool   `json:"denied,omitempty"`
	Failed string `json:"failed,omitempty"`
}

// MDMembers lists the members of running MD arrays.
func (h *Host) MDMembers(ctx context.Context) ([]MDMember, error) {
	return readTable[[]MDMember](ctx, h, TableMD)
}
