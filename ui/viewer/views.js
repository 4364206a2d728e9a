// The tensor views, in the order of their buttons and number keys.

export const VIEWS = ['kinds', 'positions', 'mask', 'move', 'gaps', 'owners'];
