//! UpdateTimeToLive and DescribeTimeToLive, as they are declared.

use super::declared::*;
use crate::model::api::time_to_live::*;
use crate::model::limits::KEY_NAME_CHARS_MAX;

time_to_live!(wire);
