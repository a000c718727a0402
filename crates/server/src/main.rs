//! placeholder

fn main(){}
