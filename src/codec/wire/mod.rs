//! JSON shapes of the DynamoDB API, one file per operation: request from JSON with the service's type and constraint errors,
//! response to JSON. (to be written)
