//go:build !linux

package soak_test

import (
	"errors"
	"math"

	"github.com/stepkeeper/stepkeeper/demo/process"
)

const noLimit = math.MaxUint64

// The faults of processes are for Linux only: no other system can fill the disk of one process.

func freeze(*process.Process) error { return errors.ErrUnsupported }

func thaw(*process.Process) error { return errors.ErrUnsupported }

func limitFiles(*process.Process, uint64) error { return errors.ErrUnsupported }
