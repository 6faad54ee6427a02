// Package deployment defines the settings of deployed functions, such as the names of queues, tables and
// topics. Environment variables hold the settings. The construct in package infra writes the variables, and
// the functions read the variables with this package.
//
// At the start of a process, one error lists all missing and wrong settings.
package deployment
