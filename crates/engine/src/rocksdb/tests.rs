#[cfg(test)] mod x{}
